//! The store that sends.

use crate::message::message;
use crate::options::{MailOptions, TIMEOUT};
use lettre::message::Mailbox;
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use runnel_store::{
    Answer, Content, Context, Error, Kind, Outcome, Reference, Result, Store, Verb, Verbs,
    decode_segment,
};
use std::rc::Rc;
use std::time::Instant;

/// Bytes of the record of a message.
const MAX_RECORD: usize = 16 << 20;

/// A mail server: a **put** or **post** to an address sends a message, and is answered when the server has taken
/// it over. Reading it answers nothing.
///
/// Errors: [`Kind::Invalid`] for what is no message, [`Kind::Unavailable`] where the server cannot be reached or
/// asks to come back, [`Kind::Denied`] where it refuses the user, [`Kind::Failed`] where it refuses the message.
/// No error contains credentials, addresses or content.
pub struct MailServer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

impl MailServer {
    /// The server of the options. It is first reached by the first message.
    ///
    /// # Errors
    /// An option is wrong.
    pub fn new(options: &MailOptions) -> Result<Rc<MailServer>> {
        Ok(Rc::new(MailServer { transport: options.transport()?, from: options.sender()? }))
    }

    fn send(
        &self,
        verb: Verb,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        if let Err(error) = context.unconditional(verb, reference) {
            return error.into();
        }
        let path = reference.path().trim_start_matches('/');
        let (address, from) = (decode_segment(path).into_owned(), self.from.clone());
        let (transport, deadline) = (self.transport.clone(), context.deadline);
        let sent = async move {
            let record = content.into_value(MAX_RECORD).await?;
            let message = message(&from, &address, &record)?;
            deliver(&transport, message, deadline).await?;
            Ok(Outcome::changed())
        };
        Answer::later(sent).on(verb, reference)
    }
}

async fn deliver(
    transport: &AsyncSmtpTransport<Tokio1Executor>,
    message: Message,
    deadline: Option<Instant>,
) -> Result<()> {
    let deadline = deadline.unwrap_or_else(|| Instant::now() + TIMEOUT);
    match tokio::time::timeout_at(deadline.into(), transport.send(message)).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(fault)) => Err(refusal(&fault)),
        Err(_) => Err(Error::new(Kind::Timeout, "the mail server did not answer in time")),
    }
}

/// The error for the program, without the server's text, which quotes addresses.
fn refusal(fault: &lettre::transport::smtp::Error) -> Error {
    let code = fault.status().map(|code| format!(" ({code})")).unwrap_or_default();
    let of = |kind, message: &str| Error::new(kind, format!("{message}{code}"));
    let status = fault.status().map_or(0, u16::from);
    match status {
        535 | 530 | 534 => of(Kind::Denied, "the mail server refuses the user"),
        400..500 => of(Kind::Unavailable, "the mail server asks to come back later"),
        500.. => of(Kind::Failed, "the mail server refuses the message"),
        _ if fault.is_timeout() => of(Kind::Timeout, "the mail server did not answer in time"),
        _ => of(Kind::Unavailable, "the mail server cannot be reached")
            .with_detail(fault.to_string()),
    }
}

#[deny(clippy::missing_trait_methods)]
impl Store for MailServer {
    fn get(&self, _: &Reference, _: &Context) -> Answer<Option<Content>> {
        Answer::ok(None)
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        self.send(Verb::Put, reference, content, context)
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        self.send(Verb::Post, reference, content, context)
    }

    fn verbs(&self, _: &Reference) -> Verbs {
        Verbs::NONE.with(Verb::Get).with(Verb::Put).with(Verb::Post)
    }

    runnel_store::without!(
        appends, merge, delete, list, keys, attributes, relocate, query, watch, tables, conditions,
        guards, escapes, as_any, sources
    );

    fn describe(&self) -> String {
        "mail server".into()
    }
}
