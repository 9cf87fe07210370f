//! What is indexed of a document under one name, and how.

use crate::index::grid::Grid;
use crate::index::partial::Partial;
use crate::index::similarity::Similarity;
use crate::index::weight::Weight;
use crate::text::tokenizer::Tokenizer;

/// The configuration of a category: one aspect of documents in which words can be found.
#[derive(Clone, Debug)]
pub struct Category {
    pub(crate) name: String,
    pub(crate) from: Option<String>,
    pub(crate) qualifiers: Vec<String>,
    pub(crate) partial: Partial,
    pub(crate) similarity: Similarity,
    pub(crate) weight: Weight,
    pub(crate) tokenizer: Option<Tokenizer>,
    pub(crate) grid: Option<Grid>,
    pub(crate) exact_first: bool,
}

impl Category {
    /// A category of this name that indexes the field of the same name.
    pub fn new(name: impl Into<String>) -> Category {
        Category {
            name: name.into(),
            from: None,
            qualifiers: Vec::new(),
            partial: Partial::default(),
            similarity: Similarity::None,
            weight: Weight::default(),
            tokenizer: None,
            grid: None,
            exact_first: false,
        }
    }

    /// A category whose values are numbers, found from nearby: `lat:47.4` looks for documents in
    /// the surroundings of 47.4. See [`Grid`]. Such a category has no partial words.
    pub fn near(name: impl Into<String>, grid: Grid) -> Category {
        Category { grid: Some(grid), partial: Partial::None, ..Category::new(name) }
    }

    /// The two categories of a place on Earth, see [`Grid::latitude`] and [`Grid::longitude`].
    pub fn place(
        latitude: impl Into<String>,
        longitude: impl Into<String>,
        km: f64,
        precision: u32,
    ) -> [Category; 2] {
        [
            Category::near(latitude, Grid::latitude(km, precision)),
            Category::near(longitude, Grid::longitude(km, precision)),
        ]
    }

    /// Indexes this field instead of the one named like the category.
    pub fn from(mut self, field: impl Into<String>) -> Category {
        self.from = Some(field.into());
        self
    }

    /// What a query writes before the colon to mean this category, instead of its name. If two
    /// categories have the same qualifier, it means the later one.
    pub fn qualifiers<Q: Into<String>>(
        mut self,
        qualifiers: impl IntoIterator<Item = Q>,
    ) -> Category {
        self.qualifiers = qualifiers.into_iter().map(Into::into).collect();
        self
    }

    /// Which parts of a word find it.
    pub fn partial(mut self, partial: Partial) -> Category {
        self.partial = partial;
        self
    }

    /// Which words count as similar.
    pub fn similarity(mut self, similarity: Similarity) -> Category {
        self.similarity = similarity;
        self
    }

    /// How much words weigh.
    pub fn weight(mut self, weight: Weight) -> Category {
        self.weight = weight;
        self
    }

    /// Takes texts apart in this way instead of the index's.
    pub fn tokenizer(mut self, tokenizer: Tokenizer) -> Category {
        self.tokenizer = Some(tokenizer);
        self
    }

    /// For a partial query word, shows documents with exactly this word before the others, and
    /// weighs by the higher of the two weights.
    pub fn exact_first(mut self, exact_first: bool) -> Category {
        self.exact_first = exact_first;
        self
    }

    /// The name of the field that is indexed.
    pub(crate) fn field(&self) -> &str {
        self.from.as_deref().unwrap_or(&self.name)
    }
}
