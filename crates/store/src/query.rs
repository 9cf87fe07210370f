//! Queries as data: what a store runs itself when it can.

pub(crate) mod evaluate;
pub(crate) mod expression;
pub(crate) mod full_text;
mod related;
pub(crate) mod run;
mod searches;

use crate::query::expression::{ColumnNames, Filter, QueryExpression, Relation};
use crate::value::contract::{
    Contract, ContractClass, ContractField, ContractKind, FieldType, TextForm,
};
use std::sync::Arc;

/// A query over the elements of a collection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    /// Which elements; all when absent.
    pub filter: Option<Filter>,
    /// In which order; the store's own when empty.
    pub sort: Vec<Sort>,
    /// At most this many.
    pub limit: Option<u64>,
    /// Number of leading results to skip.
    pub offset: u64,
    /// Only these fields, in this order; all when empty.
    pub fields: Vec<String>,
    /// Only how many there are: the answer is one integer.
    pub count: bool,
    /// Computed columns with their names, in the place of `fields`.
    pub columns: Vec<(String, QueryExpression)>,
    /// One answer for each combination of the values of these. With aggregates among the columns and no
    /// expression here, all elements are one group.
    pub group: Vec<QueryExpression>,
    /// Which groups.
    pub having: Option<Filter>,
    /// The related elements that the paths of fields name; each behind those that its path begins with.
    pub relations: Vec<Relation>,
    /// Locks the elements until the end of the caller's transaction.
    pub lock: bool,
}

impl Query {
    /// Whether it answers groups, not elements.
    pub fn is_grouped(&self) -> bool {
        !self.group.is_empty() || self.columns.iter().any(|(_, column)| column.is_aggregate())
    }
}

/// One sort key.
#[derive(Clone, Debug, PartialEq)]
pub struct Sort {
    /// The value that is compared.
    pub by: QueryExpression,
    /// Largest first.
    pub descending: bool,
}

impl Sort {
    /// By the value of a field.
    pub fn by_field(field: impl Into<String>, descending: bool) -> Self {
        Sort { by: QueryExpression::Field(field.into()), descending }
    }
}

/// What the elements of a collection look like: a class, seen by a store.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// The name of the class, such as `Task`.
    pub name: String,
    /// The name that the class gives its collection, where it is not the plural of its own.
    pub table: Option<String>,
    /// Its fields in the order of their declaration.
    pub fields: Vec<Field>,
    /// The fields that together name an element.
    pub keys: Vec<String>,
    /// The indexes that its collection should have.
    pub indexes: Vec<Index>,
    /// The fields whose words its collection finds; none for no search.
    pub full_text: Vec<String>,
    /// What the class says of its fields beyond their types: limits, patterns, nested classes.
    pub contract: Option<Arc<Contract>>,
    /// What clients of a server may ask of its collection.
    pub served: ServedLimits,
}

/// What clients of a server may ask of a collection in one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedLimits {
    /// The most elements of an answer.
    pub largest_page: u64,
    /// The fields that conditions may name; `None` for all of them.
    pub filterable: Option<Vec<String>>,
    /// The fields that the order may name; `None` for all of them.
    pub sortable: Option<Vec<String>>,
}

/// The most elements that an answer to a client has, unless the class says otherwise.
pub const LARGEST_PAGE: u64 = 1_000;

impl Default for ServedLimits {
    fn default() -> Self {
        ServedLimits { largest_page: LARGEST_PAGE, filterable: None, sortable: None }
    }
}

/// An index over the elements of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// The fields it orders by, the first one first.
    pub fields: Vec<String>,
    /// Whether no two elements may agree in all of them.
    pub unique: bool,
}

impl Shape {
    /// The contract of a table: its class, with a generated key as a readonly field.
    pub fn contract_for_clients(&self) -> Contract {
        let generated = self.generated_key();
        let declared = self.contract.as_ref();
        let known = declared.and_then(|contract| contract.classes.first());
        let field = |field: &Field| {
            let known =
                known.and_then(|class| class.fields.iter().find(|one| one.name == field.name));
            let plain = || ContractField::new(&field.name, ContractKind::Plain(field.kind));
            let mut one = known.cloned().unwrap_or_else(plain);
            // A row holds the key of another one.
            if let ContractKind::Key(kind, _) = one.kind.kind {
                one.kind.kind = ContractKind::Plain(kind);
            }
            one.required = field.required && generated != Some(field.name.as_str());
            one.readonly = field.readonly || generated == Some(field.name.as_str());
            one
        };
        let fields = self.fields.iter().map(field).collect();
        let name = self.name.clone();
        let mut classes = vec![ContractClass { name, about: String::new(), fields }];
        let others =
            declared.map_or(&[][..], |contract| contract.classes.get(1..).unwrap_or_default());
        classes.extend(others.iter().cloned());
        Contract { classes, ..Contract::default() }
    }

    /// A shape without indexes, whose key is an `id` that is an integer or text.
    pub fn new(name: impl Into<String>, fields: Vec<Field>) -> Self {
        let is_key = |field: &&Field| {
            field.name == "id" && matches!(field.kind, FieldType::Int | FieldType::Text)
        };
        let keys = fields.iter().find(is_key).map(|field| field.name.clone());
        let (name, keys) = (name.into(), keys.into_iter().collect());
        let (indexes, full_text, served) = (Vec::new(), Vec::new(), ServedLimits::default());
        Shape { name, table: None, fields, keys, indexes, full_text, contract: None, served }
    }

    /// The name of the column of a field in a database.
    pub fn column_of<'a>(&'a self, field: &'a str) -> &'a str {
        let found = self.fields.iter().find(|one| one.name == field);
        found.map_or(field, Field::column)
    }

    /// The fields whose columns have another name in a database, each with that name.
    pub fn column_names(&self) -> ColumnNames {
        let named = |field: &Field| Some((field.name.clone(), field.column.clone()?));
        self.fields.iter().filter_map(named).collect()
    }

    /// Its indexes, over columns of a database.
    pub fn column_indexes(&self) -> Vec<Index> {
        let column = |field: &String| self.column_of(field).to_string();
        let index = |index: &Index| Index {
            fields: index.fields.iter().map(column).collect(),
            unique: index.unique,
        };
        self.indexes.iter().map(index).collect()
    }

    /// What the class says of the values of a field.
    pub fn declared(&self, field: &str) -> Option<&ContractField> {
        let class = self.contract.as_ref()?.classes.first()?;
        class.fields.iter().find(|one| one.name == field)
    }

    /// Whether the texts of a field are UUIDs.
    pub fn is_uuid(&self, field: &str) -> bool {
        self.declared(field).is_some_and(|one| one.kind.kind == ContractKind::Form(TextForm::Uuid))
    }

    /// The name of the key that the collection makes for each new element: an `id` that is an
    /// integer or a UUID.
    pub fn generated_key(&self) -> Option<&str> {
        let [key] = self.keys.as_slice() else { return None };
        let field = self.fields.iter().find(|field| field.name == *key && *key == "id")?;
        (field.kind == FieldType::Int || self.is_uuid(key)).then_some(key)
    }
}

impl Field {
    /// The name of its column in a database.
    pub fn column(&self) -> &str {
        self.column.as_deref().unwrap_or(&self.name)
    }

    /// A field that refers to no other collection.
    pub fn new(name: impl Into<String>, kind: FieldType) -> Self {
        let (references, column) = (None, None);
        Field { name: name.into(), column, kind, references, required: false, readonly: false }
    }
}

/// One field of a shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// The name that the class gives its column in a database, where it is not its own.
    pub column: Option<String>,
    /// Its type.
    pub kind: FieldType,
    /// The class whose elements it refers to by their keys, where it is declared with one. Its type is
    /// then that of the key.
    pub references: Option<ForeignKey>,
    /// Whether every element has a value for it.
    pub required: bool,
    /// Whether clients cannot set it; a program can.
    pub readonly: bool,
}

/// What a field refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// The name of the class.
    pub class: String,
    /// The name that the class gives its collection, where it is not the plural of its own.
    pub table: Option<String>,
    /// What happens to the element that refers when the other one is deleted.
    pub on_delete: OnDelete,
}

/// What the deletion of an element means for those that refer to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDelete {
    /// It is refused.
    #[default]
    Restrict,
    /// They are deleted, too.
    Cascade,
    /// Their fields become nil.
    Nullify,
}

impl From<&str> for ForeignKey {
    /// To a class with the usual table, whose rows are not deleted while others refer to them.
    fn from(class: &str) -> Self {
        ForeignKey { class: class.to_string(), table: None, on_delete: OnDelete::default() }
    }
}

/// The name of a class's table: its plural in lower case, by the usual rules of English spelling.
pub fn table_name(class: &str) -> String {
    let name = class.to_lowercase();
    let vowel_before_y = ["ay", "ey", "iy", "oy", "uy"].iter().any(|end| name.ends_with(end));
    if let Some(stem) = name.strip_suffix('y')
        && !vowel_before_y
    {
        return format!("{stem}ies");
    }
    let hisses = ["s", "x", "z", "ch", "sh"].iter().any(|end| name.ends_with(end));
    if hisses { format!("{name}es") } else { format!("{name}s") }
}
