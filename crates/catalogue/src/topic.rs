//! What is neither a class nor a message and has a definition: a kind of error, a name, a scheme.

use crate::message::{Example, example};

/// What a topic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopicKind {
    /// A kind of error that the kernel raises, such as `typeError`.
    Error,
    /// A name that each program has, such as `stdout`.
    Name,
    /// A scheme of the language itself, such as `query:`.
    Scheme,
}

/// A definition that begins with `error typeError`, `name stdout` or `scheme query`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// What it is.
    pub kind: TopicKind,
    /// `typeError`
    pub name: String,
    /// What it means, in one to three sentences.
    pub text: String,
    /// Those of a scheme are the lines of one program, or requests to it: `GET /hello → 200 Hello`.
    pub examples: Vec<Example>,
}

/// The kind and the name in the first line of a definition; none where it is something else.
pub(crate) fn head(line: &str) -> Option<(TopicKind, &str)> {
    let (word, name) = line.split_once(' ')?;
    let kind = match word {
        "error" => TopicKind::Error,
        "name" => TopicKind::Name,
        "scheme" => TopicKind::Scheme,
        _ => return None,
    };
    (!name.contains(' ')).then_some((kind, name))
}

impl Topic {
    /// Reads a definition.
    pub(crate) fn parse(block: &[&str]) -> Option<Topic> {
        let (first, rest) = block.split_first()?;
        let (kind, name) = head(first)?;
        let (mut text, mut examples) = (Vec::new(), Vec::new());
        for line in rest {
            match line.strip_prefix('>') {
                Some(source) => examples.push(example(source)),
                None => text.push(*line),
            }
        }
        Some(Topic { kind, name: name.to_owned(), text: text.join(" "), examples })
    }

    /// The program of a scheme, with its values behind `// =>`.
    pub fn program(&self) -> String {
        let line = |one: &Example| match &one.result {
            Some(result) => format!("{} // => {result}", one.source),
            None => one.source.clone(),
        };
        let lines = self.examples.iter().filter(|one| !is_request(one)).map(line);
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The requests to the program of a scheme, each with its answer.
    pub fn requests(&self) -> String {
        let lines = self.examples.iter().filter(|one| is_request(one));
        lines.map(|one| one.source.as_str()).collect::<Vec<_>>().join("\n")
    }
}

fn is_request(one: &Example) -> bool {
    ["GET ", "POST "].iter().any(|method| one.source.starts_with(method))
}
