//! One element of a document, with its text and its children.

/// An element. Names have no namespace prefix, because clients send documents with and without.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Element {
    /// The local name: `Grantee`.
    pub(crate) name: Box<str>,
    /// The attributes with local names, without declarations of namespaces: `type` of `xsi:type`.
    pub(crate) attributes: Vec<(Box<str>, Box<str>)>,
    /// The text, without that of its children; white space between children is left out.
    pub(crate) text: String,
    /// The children in order.
    pub(crate) children: Vec<Element>,
}

impl Element {
    /// The first child of a name.
    pub(crate) fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| &*child.name == name)
    }

    /// The children of a name, in order.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |child| &*child.name == name)
    }

    /// The text of the first child of a name.
    pub(crate) fn text_of(&self, name: &str) -> Option<&str> {
        self.child(name).map(|child| child.text.as_str())
    }

    /// The value of an attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| &**known == name).map(|(_, value)| &**value)
    }
}
