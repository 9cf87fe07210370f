//! What a record has to be before it becomes a row: what the class of the table says, and what a
//! client may not set.

use crate::fault::{SqlFault, SqlResult};
use runnel_store::{
    Answer, Context, Contract, Error, FieldProblem, Kind, RecordUse, Records, Result, Shape, Value,
    pointer_of, unprocessable,
};
use std::rc::Rc;

/// The rules of one table.
pub(crate) struct Admission {
    contract: Option<Contract>,
}

impl Admission {
    /// The rules of a class; without one, those of the table alone.
    pub(crate) fn new(shape: Option<&Shape>) -> Self {
        Admission { contract: shape.map(Shape::contract_for_clients) }
    }

    /// Checks content for the table: what a client sent is one record that obeys the class, and
    /// every row has the required fields. Answers it with the constants that it leaves out.
    pub(crate) fn admit(
        &self,
        value: Value,
        purpose: RecordUse,
        context: &Context,
    ) -> Result<Value> {
        self.check_client(&value, purpose, context)?;
        let Some(contract) = &self.contract else { return Ok(value) };
        let value = match purpose {
            RecordUse::Change => value,
            RecordUse::Create | RecordUse::Replace => contract.filled(value),
        };
        let complete = match &value {
            Value::List(records) => {
                records.iter().try_for_each(|record| contract.complete(record, purpose))
            }
            record => contract.complete(record, purpose),
        };
        match (complete, &context.from_client) {
            (Ok(()), _) => Ok(value),
            (Err(error), Some(_)) => Err(Error { kind: Kind::Unprocessable, ..error }),
            (Err(error), None) => Err(error),
        }
    }

    fn check_client(&self, value: &Value, purpose: RecordUse, context: &Context) -> Result<()> {
        if let Some(client) = &context.from_client {
            let found = match value {
                Value::Record(_) => None,
                Value::List(_) => Some("one object is expected here, not an array"),
                _ => Some("an object is expected here"),
            };
            if let Some(message) = found {
                let problem = FieldProblem { pointer: String::new(), message: message.into() };
                return Err(unprocessable(vec![problem]));
            }
            if let Some(contract) = &self.contract {
                contract.check(value, purpose, client.granted())?;
            }
        }
        Ok(())
    }

    /// Checks the fields of many records, and their values as they come.
    pub(crate) fn admit_records(
        &self,
        records: Box<dyn Records>,
        context: &Context,
    ) -> Result<Box<dyn Records>> {
        let Some(contract) = &self.contract else { return Ok(records) };
        let Some(class) = contract.classes.first() else { return Ok(records) };
        let fields = records.fields();
        let position = |name: &str| fields.iter().position(|one| one.eq_ignore_ascii_case(name));
        if let Some(client) = &context.from_client {
            let names = class.fields.iter().filter(|field| field.readonly);
            let set = names.filter(|field| position(&field.name).is_some());
            let problems: Vec<FieldProblem> = set
                .filter(|field| !client.granted().contains(&field.name))
                .map(|field| not_settable(&field.name))
                .collect();
            if !problems.is_empty() {
                return Err(unprocessable(problems));
            }
        }
        let mut required = Vec::new();
        for field in class.fields.iter().filter(|field| field.required) {
            let Some(position) = position(&field.name) else {
                let message = format!("{} of {} is required", field.name, class.name);
                return Err(Error::new(Kind::Invalid, message));
            };
            required.push((position, field.name.clone()));
        }
        if required.is_empty() {
            return Ok(records);
        }
        Ok(Box::new(CheckedRecords { records, required: required.into(), count: 0 }))
    }
}

fn not_settable(name: &str) -> FieldProblem {
    let message = format!("{name} cannot be set by a client");
    FieldProblem { pointer: pointer_of(name), message }
}

/// Refuses a key that the table gives out by itself in what a client sent; `granted` has the fields
/// that the program has set in it.
pub(crate) fn refuse_key<'a>(
    generated: Option<&str>,
    granted: Option<&[String]>,
    mut names: impl Iterator<Item = &'a str>,
) -> SqlResult<()> {
    let (Some(key), Some(granted)) = (generated, granted) else { return Ok(()) };
    if granted.iter().any(|name| name == key) || !names.any(|name| name.eq_ignore_ascii_case(key)) {
        return Ok(());
    }
    let fields = vec![not_settable(key)];
    let fault =
        SqlFault::new(Kind::Unprocessable, format!("/{key}: {key} cannot be set by a client"));
    Err(SqlFault { fields, ..fault })
}

/// Records whose required fields have values.
struct CheckedRecords {
    records: Box<dyn Records>,
    required: Rc<[(usize, String)]>,
    count: u64,
}

impl Records for CheckedRecords {
    fn fields(&self) -> Rc<[String]> {
        self.records.fields()
    }

    fn next(&mut self) -> Answer<Option<Vec<Value>>> {
        let (width, required) = (self.records.fields().len().max(1), self.required.clone());
        match self.records.next() {
            Answer::Ready(batch) => {
                let checked = batch.and_then(|batch| checked(batch, width, &required, self.count));
                if let Ok(Some(batch)) = &checked {
                    self.count += (batch.len() / width) as u64;
                }
                Answer::Ready(checked)
            }
            // The number of a record in a batch that comes later is that within its batch.
            Answer::Later(batch) => {
                Answer::later(async move { checked(batch.await?, width, &required, 0) })
            }
        }
    }

    fn expected(&self) -> Option<u64> {
        self.records.expected()
    }
}

fn checked(
    batch: Option<Vec<Value>>,
    width: usize,
    required: &[(usize, String)],
    before: u64,
) -> Result<Option<Vec<Value>>> {
    for (row, values) in (before + 1..).zip(batch.iter().flat_map(|batch| batch.chunks(width))) {
        for (position, name) in required {
            if values.get(*position).is_some_and(Value::is_nil) {
                return Err(Error::new(Kind::Invalid, format!("record {row}: {name} is required")));
            }
        }
    }
    Ok(batch)
}
