//! The tree of an HTML document, as the parser builds it (HTML Living Standard, section 13.2).

use html5ever::interface::{ElemName, ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{Attribute, LocalName, Namespace, ParseOpts, QualName, local_name, ns};
use std::borrow::Cow;
use std::cell::RefCell;

/// A node, by its place in the tree.
pub(super) type Handle = usize;

/// What a node is.
pub(super) enum NodeKind {
    /// The root, or the contents of a template.
    Document,
    Element {
        name: QualName,
        /// Names as they are written, and values.
        attributes: Vec<(String, String)>,
        /// The root of a template's contents.
        contents: Option<Handle>,
    },
    Text(String),
    Comment(String),
}

pub(super) struct HtmlNode {
    pub(super) kind: NodeKind,
    pub(super) children: Vec<Handle>,
    parent: Option<Handle>,
}

/// A tree; its root is node 0.
#[derive(Default)]
pub(super) struct Tree {
    nodes: RefCell<Vec<HtmlNode>>,
}

/// The name of an element, apart from the tree that is being built.
#[derive(Debug)]
pub(super) struct Name(Namespace, LocalName);

impl ElemName for Name {
    fn ns(&self) -> &Namespace {
        &self.0
    }

    fn local_name(&self) -> &LocalName {
        &self.1
    }
}

/// Reads a whole document, or a part of one as it would stand in a body.
pub(super) fn read(source: &str) -> (Vec<HtmlNode>, bool) {
    let tree = Tree::default();
    tree.add(NodeKind::Document);
    let folded = source.to_ascii_lowercase();
    let whole = ["<!doctype", "<html", "<head", "<body"].iter().any(|tag| folded.contains(tag));
    let options = ParseOpts {
        tree_builder: TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() },
        ..ParseOpts::default()
    };
    let nodes = if whole {
        html5ever::parse_document(tree, options).one(source)
    } else {
        let body = QualName::new(None, ns!(html), local_name!("body"));
        html5ever::parse_fragment(tree, options, body, Vec::new(), false).one(source)
    };
    (nodes, whole)
}

fn written(name: &QualName) -> String {
    match &name.prefix {
        Some(prefix) if !prefix.is_empty() => format!("{prefix}:{}", name.local),
        _ => name.local.to_string(),
    }
}

fn pairs(attributes: Vec<Attribute>) -> Vec<(String, String)> {
    attributes.into_iter().map(|one| (written(&one.name), one.value.to_string())).collect()
}

impl Tree {
    fn add(&self, kind: NodeKind) -> Handle {
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(HtmlNode { kind, children: Vec::new(), parent: None });
        nodes.len() - 1
    }

    fn position(&self, node: Handle) -> Option<(Handle, usize)> {
        let nodes = self.nodes.borrow();
        let parent = nodes[node].parent?;
        let at = nodes[parent].children.iter().position(|child| *child == node)?;
        Some((parent, at))
    }

    fn insert(&self, parent: Handle, at: usize, child: NodeOrText<Handle>) {
        let child = match child {
            NodeOrText::AppendNode(node) => {
                self.remove_from_parent(&node);
                node
            }
            NodeOrText::AppendText(text) => {
                let mut nodes = self.nodes.borrow_mut();
                let before = at.checked_sub(1).and_then(|at| nodes[parent].children.get(at));
                if let Some(before) = before.copied()
                    && let NodeKind::Text(existing) = &mut nodes[before].kind
                {
                    existing.push_str(&text);
                    return;
                }
                drop(nodes);
                self.add(NodeKind::Text(text.to_string()))
            }
        };
        let mut nodes = self.nodes.borrow_mut();
        nodes[child].parent = Some(parent);
        let at = at.min(nodes[parent].children.len());
        nodes[parent].children.insert(at, child);
    }
}

impl TreeSink for Tree {
    type Handle = Handle;
    type Output = Vec<HtmlNode>;
    type ElemName<'a> = Name;

    fn finish(self) -> Vec<HtmlNode> {
        self.nodes.into_inner()
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Handle {
        0
    }

    fn elem_name(&self, target: &Handle) -> Name {
        match &self.nodes.borrow()[*target].kind {
            NodeKind::Element { name, .. } => Name(name.ns.clone(), name.local.clone()),
            _ => Name(ns!(), local_name!("")),
        }
    }

    fn create_element(&self, name: QualName, attrs: Vec<Attribute>, flags: ElementFlags) -> Handle {
        let contents = flags.template.then(|| self.add(NodeKind::Document));
        self.add(NodeKind::Element { name, attributes: pairs(attrs), contents })
    }

    fn create_comment(&self, text: StrTendril) -> Handle {
        self.add(NodeKind::Comment(text.to_string()))
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> Handle {
        self.add(NodeKind::Comment(format!("?{target} {data}")))
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        let end = self.nodes.borrow()[*parent].children.len();
        self.insert(*parent, end, child);
    }

    fn append_based_on_parent_node(
        &self,
        element: &Handle,
        previous: &Handle,
        child: NodeOrText<Handle>,
    ) {
        match self.position(*element) {
            Some((parent, at)) => self.insert(parent, at, child),
            None => self.append(previous, child),
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn get_template_contents(&self, target: &Handle) -> Handle {
        match &self.nodes.borrow()[*target].kind {
            NodeKind::Element { contents: Some(contents), .. } => *contents,
            _ => *target,
        }
    }

    fn same_node(&self, left: &Handle, right: &Handle) -> bool {
        left == right
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &Handle, child: NodeOrText<Handle>) {
        if let Some((parent, at)) = self.position(*sibling) {
            self.insert(parent, at, child);
        }
    }

    fn add_attrs_if_missing(&self, target: &Handle, attrs: Vec<Attribute>) {
        let mut nodes = self.nodes.borrow_mut();
        if let NodeKind::Element { attributes, .. } = &mut nodes[*target].kind {
            for (name, value) in pairs(attrs) {
                if !attributes.iter().any(|(known, _)| *known == name) {
                    attributes.push((name, value));
                }
            }
        }
    }

    fn remove_from_parent(&self, target: &Handle) {
        if let Some((parent, at)) = self.position(*target) {
            let mut nodes = self.nodes.borrow_mut();
            nodes[parent].children.remove(at);
            nodes[*target].parent = None;
        }
    }

    fn reparent_children(&self, node: &Handle, new_parent: &Handle) {
        let mut nodes = self.nodes.borrow_mut();
        let children = std::mem::take(&mut nodes[*node].children);
        for child in &children {
            nodes[*child].parent = Some(*new_parent);
        }
        nodes[*new_parent].children.extend(children);
    }
}
