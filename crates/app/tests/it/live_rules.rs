//! Rules of controls in live pages: what a client sends and a browser would not changes nothing.

use crate::live::Client;
use crate::support::{Server, http};

const SITE: &str = "#-<void>serve:<int>port
scheme:model ← DictStore store.
[ 'text', 'secret', 'kept', 'role', 'mail', 'link', 'code', 'log' ] do: { :name | model:/{name} ← '' }.
model:locked ← true. model:number ← 3. model:size ← 'S'. model:sizes ← [ 'S', 'M' ]. model:level ← 50.
model:day ← '2026-03-01'. model:time ← '23:00'. model:week ← '2026-W01'. model:agreed ← true.
scheme Site {
   / { get { #html[ #body[
      #fieldset{ disabled: ref:model:locked }[
         #legend[ #input{ id: 'legend', value: ref:model:text } ],
         #legend[ #input{ id: 'second', value: ref:model:secret } ],
         #button{ id: 'button', click: { model:log ← 'clicked' } }[ 'x' ] ],
      #input{ id: 'fixed', readonly: { model:locked }, value: ref:model:kept },
      #input{ id: 'hidden', type: 'hidden', value: ref:model:role },
      #input{ id: 'submit', type: 'submit', value: ref:model:role },
      #input{ id: 'file', type: 'FILE', value: ref:model:role },
      #input{ id: 'length', minlength: 2, maxlength: 3, value: ref:model:text },
      #input{ id: 'required', required: true, value: ref:model:text },
      #input{ id: 'code', pattern: '[A-Z]{2}|\\\\d+', value: ref:model:code },
      #input{ id: 'odd', pattern: '(?=a)a', value: ref:model:code },
      #input{ id: 'mail', type: 'email', value: ref:model:mail },
      #input{ id: 'link', type: 'url', value: ref:model:link },
      #input{ id: 'number', type: 'number', min: 1, max: 9, step: 2, value: ref:model:number },
      #input{ id: 'level', type: 'range', value: ref:model:level },
      #input{ id: 'day', type: 'date', min: '2026-01-01', max: '2026-12-31', value: ref:model:day },
      #input{ id: 'time', type: 'time', min: '22:00', max: '06:00', value: ref:model:time },
      #input{ id: 'week', type: 'week', value: ref:model:week },
      #input{ id: 'agreed', type: 'checkbox', required: true, checked: ref:model:agreed },
      #select{ id: 'size', value: ref:model:size }[
         ref:model:sizes collect: { :size | #option{ key: size }[ size ] },
         #option{ disabled: true }[ 'XL' ], #optgroup{ disabled: true }[ #option[ 'XXL' ] ] ],
      #textarea{ id: 'area', maxlength: 3, value: ref:model:text },
      { model:locked ifTrue: { #input{ id: 'block', disabled: true, value: ref:model:text } } },
      #form{ novalidate: true }[ #input{ id: 'free', required: true, value: ref:model:text } ]
   ] ] } }
   /form { get { #html[ #body[ #form{ id: 'form', submit: { :form | model:log ← form asJSON } }[
      #input{ name: 'title', required: true, minlength: 2 },
      { #input{ type: 'radio', name: 'way', value: 'a' } }, #input{ type: 'radio', name: 'way', value: 'b' },
      #input{ type: 'checkbox', name: 'gift', value: 'yes' },
      #select{ name: 'many', multiple: true }[ #option[ 'one' ], #option{ value: '2' }[ 'two' ] ],
      #input{ name: 'off', disabled: true }, #fieldset{ disabled: true }[ #input{ name: 'outer', form: 'form' } ],
      #button{ name: 'how', value: 'fast' }[ 'go' ] ],
      #input{ name: 'apart', form: 'form', maxlength: 1 } ] ] } }
   /get/:name { get { \"{model:/{name}}\" } }
   /set/:name { put { model:/{name} ← newValue parseJSON. nil } }
}
#HTTPServer{ port: port, scheme: Site store } start.
";

struct View {
    server: Server,
    client: Client,
    page: String,
    sent: u32,
}

impl View {
    fn open(path: &str) -> View {
        let server = Server::start(SITE, &[]);
        let mut client =
            Client::open_with(server.port, path, "Sec-WebSocket-Protocol: live.runnel\r\n");
        client.say(r#"["hello",null,0,""]"#);
        let page = String::from_utf8(client.next().1).unwrap();
        View { server, client, page, sent: 0 }
    }

    /// The address of an event of the element with an id, as its tag in the page says.
    fn address(&self, id: &str, event: &str) -> String {
        let tag = self.page.split('<').find(|tag| tag.contains(&format!(r#" id=\"{id}\""#)));
        let tag = tag.unwrap_or_else(|| panic!("no {id}: {}", self.page));
        let mark = format!("{event}!");
        let (_, rest) = tag.split_once(&mark).unwrap_or_else(|| panic!("no {event}: {tag}"));
        rest.chars().take_while(char::is_ascii_digit).collect()
    }

    /// Sends an event, and answers the frames up to its acknowledgement.
    fn sends(&mut self, address: &str, event: &str, value: &str) -> String {
        self.sent += 1;
        self.client.say(&format!(r#"[{},"{address}","{event}",{value}]"#, self.sent));
        let (mut heard, mark) = (String::new(), format!(r#""ack":{}"#, self.sent));
        while !heard.contains(&mark) {
            heard.push_str(&String::from_utf8(self.client.next().1).unwrap());
        }
        heard
    }

    fn enters(&mut self, id: &str, value: &str) {
        let event = if id == "agreed" { "change" } else { "input" };
        let address = self.address(id, event);
        self.sends(&address, event, value);
    }

    fn value(&self, name: &str) -> String {
        http::get(self.server.port, &format!("/get/{name}")).text()
    }

    fn set(&self, name: &str, value: &str) {
        assert_eq!(self.server.send("PUT", &format!("/set/{name}"), value).status, 204);
    }
}

/// A field, what a client sends for it, the variable that it shows, and what that is then.
const VALUES: &[(&str, &str, &str, &str)] = &[
    ("legend", r#""free""#, "text", "free"),
    ("second", r#""x""#, "secret", ""),
    ("fixed", r#""x""#, "kept", ""),
    ("length", r#""a""#, "text", "free"),
    ("length", r#""ab😀""#, "text", "free"),
    ("length", r#""a😀""#, "text", "a😀"),
    ("length", r#""a\nb""#, "text", "a😀"),
    ("length", r#""""#, "text", ""),
    ("required", r#""x""#, "text", "x"),
    ("required", r#""""#, "text", "x"),
    ("code", r#""xABx""#, "code", ""),
    ("code", r#""AB1""#, "code", ""),
    ("code", r#""12""#, "code", "12"),
    ("odd", r#""a""#, "code", "12"),
    ("mail", r#""ann""#, "mail", ""),
    ("mail", r#""ann@example.org""#, "mail", "ann@example.org"),
    ("link", r#""example.org""#, "link", ""),
    ("link", r#""https://example.org/""#, "link", "https://example.org/"),
    ("number", r#""0""#, "number", "3"),
    ("number", r#""11""#, "number", "3"),
    ("number", r#""4""#, "number", "3"),
    ("number", r#""five""#, "number", "3"),
    ("number", r#""5""#, "number", "5"),
    ("level", r#""101""#, "level", "50"),
    ("level", r#""100""#, "level", "100"),
    ("day", r#""2026-02-29""#, "day", "2026-03-01"),
    ("day", r#""2027-01-01""#, "day", "2026-03-01"),
    ("day", r#""2026-02-28""#, "day", "2026-02-28"),
    ("time", r#""12:00""#, "time", "23:00"),
    ("time", r#""05:30""#, "time", "05:30"),
    ("week", r#""2026-W54""#, "week", "2026-W01"),
    ("week", r#""2026-W53""#, "week", "2026-W53"),
    ("agreed", "false", "agreed", "true"),
    ("size", r#""Q""#, "size", "S"),
    ("size", r#""XL""#, "size", "S"),
    ("size", r#""XXL""#, "size", "S"),
    ("size", r#""M""#, "size", "M"),
    ("area", r#""abcd""#, "text", "x"),
    ("area", r#""a\nb""#, "text", "a\nb"),
    ("free", r#""""#, "text", ""),
];

#[test]
fn a_value_that_its_element_does_not_allow_is_not_written() {
    let mut view = View::open("/");
    for (field, value, name, wanted) in VALUES {
        view.enters(field, value);
        assert_eq!(view.value(name), *wanted, "{field} {value}");
    }
}

#[test]
fn what_is_disabled_or_no_field_takes_no_events() {
    let mut view = View::open("/");
    for (field, name) in [("hidden", "role"), ("submit", "role"), ("file", "role")] {
        view.enters(field, r#""forged""#);
        assert_eq!(view.value(name), "", "{field}");
    }
    let (button, second) = (view.address("button", "click"), view.address("second", "input"));
    view.sends(&button, "click", "null");
    assert_eq!(view.value("log"), "", "a disabled button");
    view.set("locked", "false");
    view.sends(&button, "click", "null");
    assert_eq!(view.value("log"), "clicked", "the fieldset is enabled");
    view.sends(&second, "input", r#""open""#);
    assert_eq!(view.value("secret"), "open");
    view.enters("fixed", r#""open""#);
    assert_eq!(view.value("kept"), "open", "a block decides whether it is read-only");
}

#[test]
fn choices_follow_their_list() {
    let mut view = View::open("/");
    view.set("sizes", r#"["S","L"]"#);
    view.enters("size", r#""M""#);
    assert_eq!(view.value("size"), "S", "M was a choice");
    view.enters("size", r#""L""#);
    assert_eq!(view.value("size"), "L", "L is one");
}

/// The fields that a client sends of a form, and those that its block gets; none if the form is refused.
const FORMS: &[(&str, Option<&str>)] = &[
    (r#"{"title":"ok","apart":""}"#, Some(r#"{"title":"ok","apart":""}"#)),
    (r#"{"title":"ok","role":"admin","off":"1","outer":"1"}"#, Some(r#"{"title":"ok"}"#)),
    (r#"{"title":"o"}"#, None),
    (r#"{"title":["ok","no"]}"#, None),
    (r#"{"title":{"a":1}}"#, None),
    ("{}", None),
    ("null", None),
    (r#"{"title":"ok","way":"b"}"#, Some(r#"{"title":"ok","way":"b"}"#)),
    (r#"{"title":"ok","way":"c"}"#, None),
    (r#"{"title":"ok","way":["a","b"]}"#, None),
    (r#"{"title":"ok","gift":"yes"}"#, Some(r#"{"title":"ok","gift":"yes"}"#)),
    (r#"{"title":"ok","gift":"no"}"#, None),
    (r#"{"title":"ok","many":["one","2"]}"#, Some(r#"{"title":"ok","many":["one","2"]}"#)),
    (r#"{"title":"ok","many":["one","two"]}"#, None),
    (r#"{"title":"ok","how":"fast"}"#, Some(r#"{"title":"ok","how":"fast"}"#)),
    (r#"{"title":"ok","how":"free"}"#, None),
    (r#"{"title":"ok","apart":"ab"}"#, None),
];

#[test]
fn a_form_that_no_browser_would_send_is_not_submitted() {
    let mut view = View::open("/form");
    let address = view.address("form", "submit");
    for (fields, wanted) in FORMS {
        view.set("log", r#""refused""#);
        let heard = view.sends(&address, "submit", fields);
        assert_eq!(view.value("log"), wanted.unwrap_or("refused"), "{fields}");
        assert_eq!(heard.contains(r#""error":"#), wanted.is_none(), "{fields}: {heard}");
    }
}
