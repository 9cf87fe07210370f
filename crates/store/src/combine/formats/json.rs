//! Values on one side, JSON text on the other.

use crate::combine::answers::{when_new, without_content};
use crate::combine::definition::{
    Combinator, CombinatorParts, CombinedStore, ConverterOptions, UP,
};
use crate::combine::formats::document::{self, DocumentChange};
use crate::combine::layer::{Below, Layer};
use crate::{
    AT_ONCE, Answer, Body, COLLECT_LIMIT, Changes, Conditions, Content, Context, Contract,
    DATA_POOL, Form, Held, KeyPage, KeyRange, Outcome, PortContent, Query, RecordUse, Reference,
    Result, Setting, SettingKind, SettingTable, Shape, Store, Value, Verb, Verbs, json,
    parse_permit,
};
use bytes::Bytes;
use std::rc::Rc;
use std::sync::Arc;

const SETTINGS: SettingTable<ConverterOptions> = SettingTable(&[
    UP,
    Setting::apart("class", "the class of what is parsed", SettingKind::Class),
    Setting::apart(
        "dropUnknown",
        "leaves out fields that the class lacks, instead of refusing them",
        SettingKind::Flag,
    ),
    Setting::apart("converterClass", "the same, as the original names it", SettingKind::Class),
]);

pub(super) const COMBINATOR: Combinator = Combinator {
    class: "JSONConverter",
    aliases: &["JSONConverterStore"],
    help: "converts objects to JSON and back",
    settings: &SETTINGS,
    make,
};

fn make(parts: &CombinatorParts) -> Result<CombinedStore> {
    let source = parts.source()?;
    let converter = match parts.read("a JSONConverter", &SETTINGS)?.up {
        true => Json::up(source),
        false => Json::down(source),
    };
    let converter = match parts.text("class").or_else(|| parts.text("converterClass")) {
        Some(class) => converter.with_class(class),
        None => converter,
    };
    // The kernel adds the class and the classes it refers to.
    Ok(match parts.options.get("contract") {
        Some(described) => converter.with_contract(Contract::read(described)).into(),
        None => converter.into(),
    })
}

/// Converts the content between a store and its users to JSON text and back.
///
/// [`Json::up`] serves a store of values to a side that speaks JSON, such as an HTTP server: reads
/// are serialized, writes are parsed. [`Json::down`] is the inverse: it gives values to a program
/// whose store holds JSON text, such as a directory.
///
/// - JSON of more than [`AT_ONCE`] bytes is parsed on a thread of the [`DATA_POOL`], and passed on
///   as a [`json::Document`] unless it has to obey a class.
/// - Parse errors are [`crate::Kind::Invalid`] with a line and column. Values written through `up`,
///   and JSON read through it, pass unchanged, and likewise for `down`.
/// - Entity tags, times and the class pass; listing and deleting are not affected.
/// - Changes carry no content: a get returns it converted.
/// - A post through `down` adds an element to a list, and a merge changes fields of a record. Where
///   the source appends bytes or does not merge, the document is read, changed and put back on the
///   condition that it is the same; such a source has to keep conditions.
pub struct Json {
    source: Rc<dyn Store>,
    direction: Direction,
    class: Option<Rc<str>>,
    contract: Option<Arc<Contract>>,
    limit: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

impl Json {
    /// JSON for the users of a store of values.
    pub fn up(source: Rc<dyn Store>) -> Self {
        Json { source, direction: Direction::Up, class: None, contract: None, limit: COLLECT_LIMIT }
    }

    /// Values for the users of a store of JSON text.
    pub fn down(source: Rc<dyn Store>) -> Self {
        Json { direction: Direction::Down, ..Json::up(source) }
    }

    /// Sets the class of the parsed records.
    pub fn with_class(mut self, name: impl Into<Rc<str>>) -> Self {
        self.class = Some(name.into());
        self
    }

    /// Validates writes against a class: violations are [`crate::Kind::Unprocessable`]. A post
    /// without content is nil.
    pub fn with_contract(mut self, contract: Contract) -> Self {
        self.contract = Some(Arc::new(contract));
        self
    }

    /// Sets the parser's size limit in bytes; the default is [`COLLECT_LIMIT`].
    pub fn with_limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    fn convert(&self, verb: Verb, content: Content) -> Answer<Content> {
        if self.direction == Direction::Down {
            return to_json(content);
        }
        let parsing = self.parsing(self.contract.clone().map(|contract| (contract, verb)));
        if verb == Verb::Post && is_page_event(&content) {
            return Answer::ok(content);
        }
        match verb {
            Verb::Post => posted_value(content, parsing),
            _ => to_value(content, parsing),
        }
    }

    fn parsing(&self, duty: Option<Duty>) -> Parsing {
        Parsing { class: self.class.clone(), limit: self.limit, duty }
    }

    fn found(
        &self,
        found: Answer<Option<Content>>,
        reference: &Reference,
        context: &Context,
    ) -> Answer<Option<Content>> {
        if self.direction == Direction::Up {
            return when_new(found, context, to_json);
        }
        let parsing = self.parsing(None);
        when_new(found, context, move |content| to_value(content, parsing)).on(Verb::Get, reference)
    }

    /// Hands content to the source in its form, and its answer to the caller in theirs.
    fn write(
        &self,
        verb: Verb,
        reference: &Reference,
        content: Content,
        act: impl FnOnce(&dyn Store, Content) -> Answer<Outcome> + 'static,
    ) -> Answer<Outcome> {
        let source = self.source.clone();
        let content = self.convert(verb, content).on(verb, reference);
        self.answered(verb, reference, content.and_then(move |content| act(&*source, content)))
    }

    /// What a write answers, in the form of the caller.
    fn answered(
        &self,
        verb: Verb,
        reference: &Reference,
        answer: Answer<Outcome>,
    ) -> Answer<Outcome> {
        let (convert, parses) = (self.upward(), self.direction == Direction::Down);
        let answer = answer.and_then(move |mut outcome| match outcome.content.take() {
            // A server may answer a put with a text about it.
            Some(content) if parses && is_other_text(&content) => {
                Answer::ok(outcome.with_content(content))
            }
            Some(content) => convert(content).map(|content| outcome.with_content(content)),
            None => Answer::ok(outcome),
        });
        answer.on(verb, reference)
    }

    /// How content of the source becomes the caller's.
    fn upward(&self) -> impl FnOnce(Content) -> Answer<Content> + 'static {
        let (direction, parsing) = (self.direction, self.parsing(None));
        move |content| match direction {
            Direction::Up => to_json(content),
            Direction::Down => to_value(content, parsing),
        }
    }

    /// Changes a document of the source, where the source itself would break it or cannot.
    fn change(
        &self,
        verb: Verb,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        let (source, limit) = (self.source.clone(), self.limit);
        let (on, context) = (reference.clone(), context.clone());
        let answer = Answer::later(async move {
            let change = match verb {
                Verb::Post => DocumentChange::Append(content.into_value(limit).await?),
                _ => DocumentChange::Merge(content.into_value(limit).await?),
            };
            document::change(source, &on, change, limit, &context).await
        });
        answer.on(verb, reference)
    }

    fn changes(&self, verb: Verb, reference: &Reference) -> bool {
        self.direction == Direction::Down && document::is_needed(&*self.source, verb, reference)
    }

    fn around_store(&self, source: Rc<dyn Store>) -> Rc<dyn Store> {
        let (direction, class, limit) = (self.direction, self.class.clone(), self.limit);
        Rc::new(Json { source, direction, class, contract: self.contract.clone(), limit })
    }
}

/// Whether content says that it is something else than JSON.
fn is_other_text(content: &Content) -> bool {
    content.media_type.as_deref().is_some_and(|media_type| !Form::Json.is_media_type(media_type))
}

impl Layer for Json {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        Ok(Below::same(&self.source, reference))
    }

    fn over(&self, inner: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        Some(self.around_store(inner))
    }

    fn name(&self) -> String {
        match self.direction {
            Direction::Up => "json up".to_string(),
            Direction::Down => "json down".to_string(),
        }
    }

    fn layer_get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        self.found(self.source.get(reference, context), reference, context)
    }

    fn layer_put(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        let (to, context) = (reference.clone(), context.clone());
        self.write(Verb::Put, reference, content, move |source, content| {
            source.put(&to, content, &context)
        })
    }

    fn layer_post(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        if self.changes(Verb::Post, reference) {
            return self.change(Verb::Post, reference, content, context);
        }
        let (to, context) = (reference.clone(), context.clone());
        self.write(Verb::Post, reference, content, move |source, content| {
            source.post(&to, content, &context)
        })
    }

    fn layer_merge(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        if self.changes(Verb::Merge, reference) {
            return self.change(Verb::Merge, reference, content, context);
        }
        let (to, context) = (reference.clone(), context.clone());
        self.write(Verb::Merge, reference, content, move |source, content| {
            // Only the fields that are named change: part of a record is no instance.
            source.merge(&to, Content { class: None, ..content }, &context)
        })
    }

    /// What the source can do, and the changes of documents that are made here.
    fn layer_verbs(&self, reference: &Reference) -> Verbs {
        let verbs = self.source.verbs(reference);
        let is_keyed = self.source.conditions(reference) == Conditions::Tags;
        match self.direction == Direction::Down && is_keyed && verbs.has(Verb::Put) {
            true => verbs.with(Verb::Post).with(Verb::Merge),
            false => verbs,
        }
    }

    /// Posts are values: through `down` they become elements.
    fn layer_appends(&self, reference: &Reference) -> bool {
        self.direction == Direction::Up && self.source.appends(reference)
    }

    fn layer_delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        self.answered(Verb::Delete, reference, self.source.delete(reference, context))
    }

    /// The source's, without lengths: those are of the content in its form.
    fn layer_keys(
        &self,
        reference: &Reference,
        range: &KeyRange,
        context: &Context,
    ) -> Answer<Option<KeyPage>> {
        let page = self.source.keys(reference, range, context);
        page.map(|page| page.map(|page| page.with(|key| key.length = None)))
    }

    fn layer_query(
        &self,
        reference: &Reference,
        query: &Query,
        context: &Context,
    ) -> Answer<Content> {
        let convert = self.upward();
        self.source.query(reference, query, context).and_then(convert).on(Verb::Query, reference)
    }

    fn layer_run(
        &self,
        reference: &Reference,
        statement: &str,
        parameters: Vec<Value>,
        context: &Context,
    ) -> Answer<Content> {
        let convert = self.upward();
        let ran = self.source.with_tables(Verb::Query, reference, |tables| {
            tables.run(reference, statement, parameters, context)
        });
        ran.and_then(convert).on(Verb::Query, reference)
    }

    fn layer_watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        without_content(self.source.watch(reference, context))
    }

    fn layer_define(&self, reference: &Reference, shape: &Shape) -> Answer<Rc<dyn Store>> {
        let (direction, class, limit) = (self.direction, self.class.clone(), self.limit);
        let contract = self.contract.clone();
        let defined = self
            .source
            .with_tables(Verb::Define, reference, |tables| tables.define(reference, shape));
        defined.map(move |source| {
            Rc::new(Json { source, direction, class, contract, limit }) as Rc<dyn Store>
        })
    }
}

/// An event of a live page below: from its client, or a form that names one.
fn is_page_event(content: &Content) -> bool {
    let own = content.media_type.as_deref().unwrap_or_default();
    let body: &[u8] = match &content.body {
        Body::Bytes(bytes) => bytes,
        Body::Text(text) => text.as_bytes(),
        _ => &[],
    };
    let is_form = own.starts_with("application/x-www-form-urlencoded")
        || own.starts_with("multipart/form-data");
    own == "application/vnd.runnel.event+json"
        || (is_form && body.windows(6).any(|part| part == b"_event"))
}

/// A page or a document: serialized in its own format, whose text is not data. So is a conversation.
fn is_document(content: &Content) -> bool {
    if let Body::Lazy(lazy) = &content.body
        && lazy.as_any().is::<PortContent>()
    {
        return true;
    }
    let own = content.media_type.as_deref().unwrap_or_default();
    let own = own.split(';').next().unwrap_or_default().trim();
    own == "text/html"
        || own == "text/event-stream"
        || own.ends_with("/xml")
        || own.ends_with("+xml")
}

/// Content as JSON bytes. Streams that are JSON already stay streams, and pages stay pages.
fn to_json(content: Content) -> Answer<Content> {
    if is_document(&content) {
        return Answer::ok(content);
    }
    let media_type = Some(content.media_type_in(Form::Json));
    let is_json = content.media_type.as_deref().is_some_and(|own| Form::Json.is_media_type(own));
    if is_json && matches!(content.body, Body::Stream(..)) {
        return Answer::ok(content);
    }
    let Content { body, media_type: own, .. } = content;
    let rest = Content { body: Body::Empty, media_type, ..content };
    let plain = Content { body, media_type: own, ..Content::default() };
    plain.encode(Form::Json).map(move |bytes| Content { body: Body::Bytes(bytes), ..rest })
}

/// What content has to obey, and what the verb does with it.
type Duty = (Arc<Contract>, Verb);

/// How content becomes a value.
struct Parsing {
    class: Option<Rc<str>>,
    limit: usize,
    duty: Option<Duty>,
}

/// Content as a value. Values and lazy content are data already.
fn to_value(content: Content, parsing: Parsing) -> Answer<Content> {
    let Parsing { class, limit, duty } = parsing;
    let Content { body, class: own, .. } = content;
    let rest = Content { body: Body::Empty, media_type: None, class: class.or(own), ..content };
    let whole = move |body| Content { body, ..rest };
    match body {
        Body::Value(value) => {
            checked(value, duty.as_ref()).map(|value| whole(Body::Value(value))).into()
        }
        Body::Lazy(lazy) => Answer::ok(whole(Body::Lazy(lazy))),
        body => {
            let text = Content { body, ..Content::default() }.read(limit);
            text.and_then(move |bytes| parsed(bytes, duty)).map(whole)
        }
    }
}

fn parsed(text: Bytes, duty: Option<Duty>) -> Answer<Body> {
    let parse = move |text: &[u8], duty: Option<&Duty>| checked(json::parse(text)?, duty);
    if text.len() <= AT_ONCE {
        return parse(&text, duty.as_ref()).map(Body::Value).into();
    }
    Answer::later(async move {
        // The text is no longer that of a request that is collected, and waits here.
        let mut held = Held::default();
        held.add_arriving(text.len())?;
        let _permit = parse_permit(text.len()).await?;
        if duty.is_some() {
            return DATA_POOL.attempt(move || parse(&text, duty.as_ref())).await.map(Body::Value);
        }
        let tape = DATA_POOL.attempt(move || json::Tape::parse(text)).await?;
        Ok(Body::Lazy(Rc::new(json::Document(Arc::new(tape)))))
    })
}

/// The posted value: empty content is nil, because an action needs no content.
fn posted_value(content: Content, parsing: Parsing) -> Answer<Content> {
    if !matches!(content.body, Body::Stream(..)) {
        let empty = match &content.body {
            Body::Empty => true,
            Body::Bytes(bytes) => bytes.is_empty(),
            Body::Text(text) => text.is_empty(),
            _ => false,
        };
        return match empty {
            true => Answer::ok(Content::value(Value::Nil)),
            false => to_value(content, parsing),
        };
    }
    let Content { body, media_type, .. } = content;
    let read = Content { body, ..Content::default() }.read(parsing.limit);
    read.and_then(move |bytes| {
        posted_value(Content { media_type, ..Content::bytes(bytes) }, parsing)
    })
}

/// A value that obeys the class, if any, without the fields that it drops.
fn checked(value: Value, duty: Option<&Duty>) -> Result<Value> {
    let Some((contract, verb)) = duty else { return Ok(value) };
    let purpose = match verb {
        Verb::Post if value.is_nil() => return Ok(value),
        Verb::Post => RecordUse::Create,
        Verb::Merge => RecordUse::Change,
        _ => RecordUse::Replace,
    };
    contract.check(&value, purpose, &[])?;
    Ok(contract.without_unknown(value))
}
