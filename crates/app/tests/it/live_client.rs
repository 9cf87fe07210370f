//! The client of live pages in a real browser, against a server that the test plays frame by frame.

use crate::support::browser::Browser;
use crate::support::live_server::{LiveServer, Offer};
use crate::support::{self, eventually_or};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A browser and a page; none where no browser is installed.
pub(crate) fn start(body: &str) -> Option<(Browser, LiveServer)> {
    let browser = match Browser::start() {
        Ok(browser) => browser,
        Err(reason) => {
            support::skip(&reason);
            return None;
        }
    };
    let server = LiveServer::start(body);
    browser.open(&server.address());
    assert_eq!(server.begin("v1"), json!(["hello", null, 0, "f1"]));
    Some((browser, server))
}

/// Waits until a script answers a value.
pub(crate) fn shows(browser: &Browser, script: &str, wanted: Value) {
    let script = format!("return {script}");
    eventually_or(
        || browser.script(&script) == wanted,
        || format!("{script}: {} is not {wanted}", browser.script(&script)),
    );
}

fn value_of(browser: &Browser, id: &str) -> Value {
    browser.script(&format!("return document.getElementById('{id}').value"))
}

/// What is in the body, without comments and scripts.
fn text(browser: &Browser, selector: &str) -> Value {
    browser.script(&format!("return document.querySelector('{selector}').textContent"))
}

#[test]
fn content_and_attributes_follow_their_slots() {
    let Some((browser, server)) = start(
        "<h1 data-live='class=2 title=3'><!--[1-->one<!--]--></h1>
         <div id=box><!--[4--><b>x</b> <!--[1-->inner<!--]--><!--]--></div>
         <button data-live='disabled=5' disabled>b</button>
         <a data-live='href=6' href='/a'>a</a><textarea data-live='.text=7'>t</textarea>
         <svg><g id=drawing><!--[8--><!--]--></g></svg>",
    ) else {
        return;
    };
    server
        .send(r#"[2,"1","two &amp; more","2","wide","3","t","4.1","changed","5",null,"7","new"]"#);
    shows(&browser, "document.querySelector('h1').textContent", json!("two & more"));
    assert_eq!(browser.script("return document.querySelector('h1').className"), "wide");
    assert_eq!(text(&browser, "#box"), "x changed");
    assert_eq!(browser.script("return document.querySelector('button').disabled"), false);
    assert_eq!(browser.script("return document.querySelector('textarea').value"), "new");
    server.send(r#"[3,"5",true,"4","<i>y</i><!--[2-->deep<!--]-->","4.2","deeper","4.1","gone"]"#);
    shows(&browser, "document.querySelector('#box').textContent", json!("ydeeper"));
    assert_eq!(browser.script("return document.querySelector('button').disabled"), true);
    server.send(r#"[4,"8","<circle r='3'/><text>7</text>","6","/b"]"#);
    shows(&browser, "document.querySelectorAll('#drawing circle').length", json!(1));
    assert_eq!(
        browser.script("return document.querySelector('circle').namespaceURI"),
        "http://www.w3.org/2000/svg"
    );
    // A frame that came before changes nothing.
    server.send(r#"[4,"1","old"]"#);
    server.send(r#"[5,"6","/c"]"#);
    shows(&browser, "document.querySelector('a').getAttribute('href')", json!("/c"));
    assert_eq!(text(&browser, "h1"), "two & more");
    assert_eq!(browser.script("return document.documentElement.dataset.live"), "on");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn lists_change_by_operations() {
    let Some((browser, server)) = start(
        "<table><tbody><!--[1--><tr data-k=1><td><!--[1-->a<!--]--></td></tr>\
         <tr data-k=2><td data-live='class=1'>b <input id=field></td></tr><!--]--></tbody></table>\
         <ul><!--[2--><!--]--></ul>",
    ) else {
        return;
    };
    let rows = "[...document.querySelectorAll('tr')].map((row) => row.textContent).join()";
    browser.type_into("#field", "typed");
    server.send(
        r#"[2,"1",[["+",3,1,"<tr data-k='3'><td><!--[1-->c<!--]--></td></tr>"],[">",1,0]],
            "1.1.1","A","1.3.1","C","1.2.1","wide"]"#,
    );
    shows(&browser, rows, json!("C,b ,A"));
    assert_eq!(browser.script("return document.activeElement.id"), "field");
    server.send(r#"[3,"1",[[">",2,3],["-",1],["~",3,"<tr data-k='3'><td>d</td></tr>"],["-",9]]]"#);
    shows(&browser, rows, json!("b ,d"));
    assert_eq!(value_of(&browser, "field"), "typed");
    assert_eq!(browser.script("return document.activeElement.id"), "field");
    // An item that is replaced keeps what was typed into it.
    server.send(
        r#"[4,"1",[["~",2,"<tr data-k='2'><td>new <input id=field></td></tr>"]],
            "2",[["+",1,0,"<li data-k='1'>x</li>"],["+",2,1,"<li data-k='2'>y</li>"]]]"#,
    );
    shows(&browser, rows, json!("new ,d"));
    assert_eq!(value_of(&browser, "field"), "typed");
    assert_eq!(browser.script("return document.activeElement.id"), "field");
    assert_eq!(text(&browser, "ul"), "yx");
    // A list may come whole.
    server.send(r#"[5,"2","<li data-k='8'>z</li>"]"#);
    server.send(r#"[6,"2",[["+",9,8,"<li data-k='9'>w</li>"]]]"#);
    shows(&browser, "document.querySelector('ul').textContent", json!("wz"));
}

#[test]
fn events_are_sent_in_order() {
    let Some((browser, server)) = start(
        "<button id=b data-live='click!1' form=_live name=_event value=1>+</button>
         <ul><!--[2--><li data-k=7><a href='/x' id=a data-live='click!3'>x</a></li><!--]--></ul>
         <input id=tick type=checkbox data-live='checked=4 change!4'>
         <form id=f method=post data-live='submit!5'><input type=hidden name=_event value=5>
          <input name=title value='a b'><input type=checkbox name=done checked>
          <input name=tag value=1><input name=tag value=2><button name=how value=save>ok</button></form>
         <input id=keys data-live='keydown!6'>
         <select id=s data-live='value=7 input!7'><option>x<option>y</select>",
    ) else {
        return;
    };
    browser.click("#b");
    assert_eq!(server.next(), json!([1, "1", "click", null]));
    browser.click("#a");
    assert_eq!(server.next(), json!([2, "2.7.3", "click", null]));
    browser.click("#tick");
    assert_eq!(server.next(), json!([3, "4", "change", true]));
    browser.click("#f button");
    let fields = json!({ "title": "a b", "done": "on", "tag": ["1", "2"], "how": "save" });
    assert_eq!(server.next(), json!([4, "5", "submit", fields]));
    // The second click of a double click.
    browser.click("#f button");
    browser.type_into("#keys", "q");
    assert_eq!(server.next(), json!([5, "6", "keydown", "q"]));
    browser.type_into("#s", "y");
    assert_eq!(server.next(), json!([6, "7", "input", "y"]));
    server.send(r#"[2,"",{"ack":6}]"#);
    assert_eq!(browser.get("/url"), server.address(), "no form and no link left the page");
    browser.click("#f button");
    assert_eq!(server.next(), json!([7, "5", "submit", fields]));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// Types letters slowly into the field with the focus, as a user does.
fn type_slowly(browser: &Browser, text: &str) {
    for letter in text.chars() {
        browser.tell("Input.insertText", json!({ "text": letter.to_string() }));
    }
}

/// The text that is typed.
fn typed() -> String {
    ('a'..='z').cycle().take(150).collect()
}

#[test]
fn typing_loses_no_character_while_patches_arrive() {
    let Some((browser, server)) = start(
        "<input id=name data-live='value=1 input!1' value=''>
         <p><!--[2-->0<!--]--></p><div><!--[3--><input name=plain><!--]--></div>",
    ) else {
        return;
    };
    browser.click("#name");
    let flood = server.clone();
    let sender = std::thread::spawn(move || {
        // 100 patches a second: another slot, the markup around another field, and the field itself
        // with old values of this field.
        let (mut seq, mut heard, mut last) = (2, 0, String::new());
        let (start, wanted) = (Instant::now(), typed());
        while last != wanted && start.elapsed() < 2 * support::PATIENCE {
            let new: Vec<Value> = flood.all().into_iter().skip(1 + heard).collect();
            for message in new {
                // The server answers late, and sends an older value before that.
                heard += 1;
                flood.send(&json!([seq, "1", last]).to_string());
                last = message[3].as_str().unwrap().to_string();
                flood.send(&json!([seq + 1, "", { "ack": heard }]).to_string());
                seq += 2;
            }
            let markup = format!("<input name=plain data-n={seq}>");
            flood.send(&json!([seq, "2", seq.to_string(), "3", markup, "1", last]).to_string());
            seq += 1;
            std::thread::sleep(Duration::from_millis(10));
        }
        last
    });
    let wanted = typed();
    let (first, rest) = wanted.split_at(100);
    type_slowly(&browser, rest);
    // The rest is typed before that.
    browser.script("document.getElementById('name').setSelectionRange(0, 0)");
    type_slowly(&browser, first);
    assert_eq!(value_of(&browser, "name"), wanted);
    let caret = browser.script("return document.activeElement.selectionStart");
    assert_eq!(caret, 100, "the caret stays where it was typed");
    assert_eq!(sender.join().unwrap(), wanted, "the server got everything");
    assert_eq!(value_of(&browser, "name"), wanted);
    assert_eq!(browser.script("return document.activeElement.selectionStart"), 100);
}

#[test]
fn a_field_keeps_its_caret_when_others_write_it() {
    let Some((browser, server)) =
        start("<input id=name data-live='value=1 input!1' value='hello world'>")
    else {
        return;
    };
    browser
        .script("const f = document.getElementById('name'); f.focus(); f.setSelectionRange(6, 9)");
    server.send(r#"[2,"1","oh, hello world"]"#);
    shows(&browser, "document.getElementById('name').value", json!("oh, hello world"));
    let selection =
        "return [document.activeElement.selectionStart, document.activeElement.selectionEnd]";
    assert_eq!(browser.script(selection), json!([10, 13]));
    server.send(r#"[3,"1","oh, hello all of you"]"#);
    shows(&browser, "document.getElementById('name').value", json!("oh, hello all of you"));
    assert_eq!(browser.script(selection), json!([10, 13]));
}

#[test]
fn text_that_an_input_method_composes_is_left_alone() {
    let Some((browser, server)) =
        start("<input id=name data-live='value=1 input!1' value=''><p id=p><!--[2-->0<!--]--></p>")
    else {
        return;
    };
    browser.click("#name");
    for text in ["k", "か", "かn", "かん"] {
        let at = text.chars().count();
        browser.tell(
            "Input.imeSetComposition",
            json!({ "text": text, "selectionStart": at, "selectionEnd": at }),
        );
    }
    server.send(r#"[2,"1","other","2","new"]"#);
    assert_eq!(value_of(&browser, "name"), "かん");
    browser.tell("Input.insertText", json!({ "text": "漢" }));
    assert_eq!(server.next(), json!([1, "1", "input", "漢"]));
    shows(&browser, "document.getElementById('p').textContent", json!("new"));
    server.send(r#"[3,"",{"ack":1}]"#);
    server.send(r#"[4,"2","newer"]"#);
    shows(&browser, "document.getElementById('p').textContent", json!("newer"));
    assert_eq!(value_of(&browser, "name"), "漢");
}

#[test]
fn a_cut_connection_is_resumed() {
    let Some((browser, server)) = start(
        "<form id=f method=post data-live='submit!1'><input id=title name=title><button>ok</button></form>
         <input id=name data-live='value=2 input!2' value=''><p id=p><!--[3-->0<!--]--></p>",
    ) else {
        return;
    };
    server.send(r#"[2,"3","1"]"#);
    browser.type_into("#title", "before");
    browser.click("#f button");
    assert_eq!(server.next(), json!([1, "1", "submit", { "title": "before" }]));
    // The acknowledgement does not arrive.
    server.offer(Offer::Nothing);
    server.cut();
    shows(&browser, "document.documentElement.dataset.live", json!("off"));
    browser.script("document.getElementById('title').value = ''");
    browser.type_into("#title", "meanwhile");
    browser.click("#f button");
    browser.click("#f button");
    browser.type_into("#name", "abc");
    server.offer(Offer::Socket);
    assert_eq!(server.next(), json!(["hello", "v1", 2, "f1"]));
    // Nothing is sent before the server has said what it has.
    std::thread::sleep(Duration::from_millis(100));
    server.send(r#"[3,"3","2"]"#);
    server.send(r#"[4,"",{"ack":1}]"#);
    assert_eq!(server.next(), json!([2, "1", "submit", { "title": "meanwhile" }]));
    assert_eq!(server.next(), json!([3, "2", "input", "abc"]));
    server.send(r#"[5,"",{"ack":3},"3","3"]"#);
    shows(&browser, "document.getElementById('p').textContent", json!("3"));
    shows(&browser, "document.documentElement.dataset.live", json!("on"));
    assert_eq!(value_of(&browser, "title"), "", "a form that was sent is as at first");
    // An event without an acknowledgement is sent again: the server knows its number.
    browser.type_into("#title", "last");
    browser.click("#f button");
    assert_eq!(server.next()[0], 4);
    server.cut();
    assert_eq!(server.next(), json!(["hello", "v1", 5, "f1"]));
    server.send(r#"[6,"",{"ack":3}]"#);
    assert_eq!(server.next(), json!([4, "1", "submit", { "title": "last" }]));
}

#[test]
fn a_restarted_server_gets_what_is_being_typed() {
    let page = |name: &str| {
        format!(
            "<form id=f data-live='submit!1'><input name=title id=title><button>ok</button></form>
             <input id=name data-live='value=2 input!2' value='{name}'>
             <ul><!--[3--><li data-k=1><button id=x data-live='click!1'>x</button></li><!--]--></ul>"
        )
    };
    let Some((browser, server)) = start(&page("")) else { return };
    browser.type_into("#title", "a draft");
    browser.type_into("#name", "Ada");
    // Events of the typing are acknowledged: the server had it in memory.
    let mut n = 0;
    while server.all().last().unwrap()[3] != "Ada" {
        std::thread::sleep(Duration::from_millis(10));
    }
    for message in server.all().iter().skip(1) {
        n = message[0].as_u64().unwrap();
    }
    server.send(&json!([2, "", { "ack": n }]).to_string());
    browser.click("#f button");
    shows_message(&server, |message| message[2] == "submit");
    browser.script("document.getElementById('name').focus()");
    server.offer(Offer::Nothing);
    server.cut();
    shows(&browser, "document.documentElement.dataset.live", json!("off"));
    browser.script("document.getElementById('title').value = 'another'");
    browser.click("#x");
    browser.click("#f button");
    browser.script("document.getElementById('name').focus()");
    server.offer(Offer::Socket);
    let before = server.all().len();
    shows_message(&server, |message| message[0] == "hello" && message[1] == "v1");
    // A new view of the same page: the values of all slots.
    server.send(r#"[1,"",{"view":"v2"},"2","","3","<li data-k='1'>y</li>"]"#);
    // What was sent to the old process is not sent again, nor a click in a list; the other submit is,
    // and the text that is in the field.
    eventually_or(|| server.all().len() >= before + 3, || format!("{:?}", server.all()));
    std::thread::sleep(Duration::from_millis(100));
    let all = server.all();
    let sent: Vec<&Value> = all.iter().skip_while(|one| one[1] != "v1").skip(1).collect();
    assert_eq!(sent[0], &json!([1, "1", "submit", { "title": "another" }]));
    assert_eq!(sent[1], &json!([2, "2", "input", "Ada"]));
    assert_eq!(sent.len(), 2, "{sent:?}");
    assert_eq!(value_of(&browser, "name"), "Ada");
    // Another version of the program: the whole page.
    server.send(r#"[2,"",{"ack":2}]"#);
    browser.script("document.getElementById('title').value = 'third'");
    browser
        .script("const f = document.getElementById('name'); f.focus(); f.setSelectionRange(1, 2)");
    server.cut();
    shows_message(&server, |message| message[0] == "hello" && message[1] == "v2");
    let new = format!("<h1>New</h1>{}", page("from the store"));
    server.send(&json!([1, "", { "view": "v3", "page": new, "f": "f2" }]).to_string());
    shows(&browser, "document.querySelector('h1')?.textContent", json!("New"));
    assert_eq!(value_of(&browser, "title"), "third");
    assert_eq!(value_of(&browser, "name"), "Ada");
    assert_eq!(
        browser.script(
            "const f = document.activeElement; return [f.id, f.selectionStart, f.selectionEnd]"
        ),
        json!(["name", 1, 2])
    );
    shows_message(&server, |message| message == &json!([1, "2", "input", "Ada"]));
    assert_eq!(browser.complaints_but(&["WebSocket"]), Vec::<String>::new());
}

/// Waits for a message of the client.
fn shows_message(server: &LiveServer, mut is_wanted: impl FnMut(&Value) -> bool) {
    eventually_or(
        || server.all().iter().any(&mut is_wanted),
        || format!("the message does not come: {:?}", server.all()),
    );
}

#[test]
fn without_a_websocket_frames_are_events_of_a_stream() {
    let browser = match Browser::start() {
        Ok(browser) => browser,
        Err(reason) => return support::skip(&reason),
    };
    let server =
        LiveServer::start("<button data-live='click!1'>+</button><p id=p><!--[2-->0<!--]--></p>");
    server.offer(Offer::Events);
    browser.open(&server.address());
    server.begin("v1");
    server.send(r#"[2,"2","1"]"#);
    shows(&browser, "document.getElementById('p').textContent", json!("1"));
    for n in 1..=5 {
        browser.click("button");
        assert_eq!(server.next(), json!([n, "1", "click", null]));
    }
    assert_eq!(server.tokens(), ["v1"; 5]);
    server.send(r#"[3,"",{"ack":5}]"#);
    server.cut();
    assert_eq!(server.next(), json!(["hello", "v1", 3, "f1"]));
    server.send(r#"[4,"",{"ack":5},"2","2"]"#);
    shows(&browser, "document.getElementById('p').textContent", json!("2"));
}

#[test]
fn links_and_errors_need_no_reload() {
    let Some((browser, server)) =
        start("<a live href='/two'>go</a><button data-live='click!1'>b</button>")
    else {
        return;
    };
    browser.click("button");
    assert_eq!(server.next()[2], "click");
    server.send(r#"[2,"",{"ack":1,"error":"not <b>now</b>"}]"#);
    shows(&browser, "document.querySelector('[role=alert]')?.textContent", json!("not <b>now</b>"));
    browser.script("window.kept = 1");
    server.show("<h1>Two</h1><p id=p><!--[1-->0<!--]--></p>");
    browser.click("a");
    let hello = server.next();
    let hello = if hello[0] == "hello" { hello } else { server.next() };
    assert_eq!((&hello[0], &hello[1], &hello[3]), (&json!("hello"), &json!(null), &json!("f1")));
    server.send(r#"[1,"",{"view":"v2"},"1","live"]"#);
    shows(&browser, "document.getElementById('p')?.textContent", json!("live"));
    assert_eq!(browser.script("return location.pathname + window.kept"), "/two1");
    server.show("<h1>One</h1>");
    browser.post("/back", &json!({}));
    assert_eq!(server.next()[1], Value::Null);
    assert_eq!(browser.script("return location.pathname + window.kept"), "/1");
    assert_eq!(text(&browser, "h1"), "One");
    server.send(r#"[1,"",{"view":"v3","go":"/three","page":"<h1>Three</h1>"}]"#);
    shows(&browser, "document.querySelector('h1')?.textContent", json!("Three"));
    shows(&browser, "location.pathname", json!("/three"));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// Texts that run code where a program of another kind writes them as they are.
const HOSTILE: [&str; 12] = [
    "javascript:ran++",
    "JaVaScRiPt:ran++",
    " javascript:ran++",
    "java\tscript:ran++",
    "java\nscript:ran++",
    "\u{1}javascript:ran++",
    "java\0script:ran++",
    "ran++",
    "<script>ran++</script>",
    "</textarea><script>ran++</script>",
    "\" onclick=ran++ x=\"",
    "data:text/html,<script>parent.ran++</script>",
];

#[test]
fn nothing_that_is_sent_runs_as_code() {
    let Some((browser, server)) = start("<p>none</p>") else { return };
    for policy in [true, false] {
        server.policy(policy);
        server.show(
            "<p><!--[1--><!--]--></p><a id=a data-live='href=2 onclick=3 title=4'>a</a>
             <form id=form data-live='action=5'></form><iframe data-live='src=6 srcdoc=7'></iframe>
             <svg><a id=drawn data-live='xlink:href=8'><text>x</text></a></svg>
             <ul><!--[9--><!--]--></ul><textarea data-live='.text=10'></textarea>
             <button id=b form=form data-live='formaction=11'>b</button>",
        );
        browser.open(&server.address());
        server.begin("v1");
        browser.script("window.ran = 0; window.alert = () => { window.ran++ }");
        let mut seq = 1;
        for text in HOSTILE {
            for slot in [2, 3, 4, 5, 6, 7, 8, 10, 11] {
                seq += 1;
                server.send(&json!([seq, slot.to_string(), text]).to_string());
            }
            seq += 1;
            server.send(&json!([seq, "1", seq.to_string()]).to_string());
            shows(&browser, "document.querySelector('p').textContent", json!(seq.to_string()));
            assert_eq!(browser.script("return window.ran"), 0, "{text:?}");
            let refused = browser.script(
                "return ['a', 'form', 'drawn', 'b'].map((id) => document.getElementById(id))
                   .flatMap((one) => [...one.attributes]).map((one) => `${one.name}=${one.value}`)
                   .filter((one) => /^(on|srcdoc)|^(?!title).*=[\\0-\\x20]*j\\s*a\\s*v\\s*a/i.test(one))",
            );
            assert_eq!(refused, json!([]), "{text:?}");
        }
    }
}

#[test]
fn markup_that_is_not_escaped_does_not_run_with_the_policy() {
    let Some((browser, server)) = start("<p><!--[1--><!--]--></p><ul><!--[2--><!--]--></ul>")
    else {
        return;
    };
    browser.script("window.ran = 0");
    let mut seq = 1;
    for html in [
        "<script>ran++</script>",
        "<img src=x onerror=ran++>",
        "<svg onload=ran++>",
        "<svg><script>ran++</script></svg>",
        "<details open ontoggle=ran++>",
        "<iframe srcdoc='<script>parent.ran++</script>'></iframe>",
    ] {
        let item = format!("<li data-k='{seq}'>{html}</li>");
        server.send(&json!([seq + 1, "1", html, "2", [["+", seq, 0, item]]]).to_string());
        seq += 1;
    }
    server.send(&json!([seq + 1, "1", "end"]).to_string());
    shows(&browser, "document.querySelector('p').textContent", json!("end"));
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(browser.script("return window.ran"), 0);
}

#[test]
fn items_are_dragged_by_mouse_and_keys() {
    let Some((browser, server)) = start(
        "<ul id=one data-live='drop!1'><li draggable=true data-item=7 id=seven>seven</li>
          <li draggable=true data-item=8>eight</li></ul>
         <ul id=two data-live='drop!2'><li draggable=true data-item=9>nine</li><li>rest</li></ul>",
    ) else {
        return;
    };
    shows(&browser, "document.querySelectorAll('[tabindex]').length", json!(3));
    browser.script(
        "const at = (element) => { const box = element.getBoundingClientRect();
           return { bubbles: true, cancelable: true, clientX: box.left + 2, clientY: box.top + 2,
             dataTransfer: new DataTransfer() } };
         const seven = document.getElementById('seven'), nine = document.querySelector('#two li');
         const place = at(nine);
         seven.dispatchEvent(new DragEvent('dragstart', place));
         nine.dispatchEvent(new DragEvent('dragover', place));
         nine.dispatchEvent(new DragEvent('drop', place));
         seven.dispatchEvent(new DragEvent('dragend', place));",
    );
    assert_eq!(server.next(), json!([1, "2", "drop", { "item": "7", "before": "9" }]));
    // Space takes it, Right goes to the next place, Up to its end.
    browser.type_into("#seven", " \u{e014}\u{e013} ");
    assert_eq!(server.next(), json!([2, "2", "drop", { "item": "7", "before": null }]));
    // Escape puts it back; Down goes behind the next one.
    browser.type_into("#seven", " \u{e014}\u{e00c} \u{e015} ");
    assert_eq!(server.next(), json!([3, "1", "drop", { "item": "7", "before": null }]));
    let marks = "return document.querySelectorAll(
        '[data-dragged], [data-drop-over], [data-drop-before]').length";
    assert_eq!(browser.script(marks), 0);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn files_are_uploaded_with_the_token_of_the_view() {
    let Some((browser, server)) =
        start("<input id=file type=file multiple name=files data-live='upload!3'>")
    else {
        return;
    };
    let folder = support::Folder::new();
    let file = folder.write("größe.txt", "content of the file");
    browser.type_into("#file", &file.display().to_string());
    let sent = server.next();
    assert_eq!((&sent["view"], &sent["kind"]), (&json!("v1"), &json!("multipart/form-data")));
    let body = sent["body"].as_str().unwrap();
    for part in [
        "name=\"_event\"\r\n\r\n3\r\n",
        "name=\"files\"; filename=\"größe.txt\"",
        "content of the file",
    ] {
        assert!(body.contains(part), "{body}");
    }
    shows(&browser, "document.getElementById('file').value", json!(""));
}

/// The scripts that servers send: what the compressor makes of the readable ones.
const SCRIPTS: [(&str, usize); 4] =
    [("live", 3072), ("live-more", 2048), ("live-drop", 2048), ("live-upload", 2048)];

fn compressed(bytes: &[u8]) -> usize {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap().len()
}

#[test]
fn scripts_are_small_and_belong_to_their_sources() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let minified =
        |name: &str| std::fs::read(root.join(format!("std/live/{name}.min.js"))).unwrap();
    for (name, most) in SCRIPTS {
        let size = compressed(&minified(name));
        println!("{name}.js: {size} bytes");
        assert!(size <= most, "{name}.js has {size} bytes compressed, the limit is {most}");
    }
    let folder = support::Folder::new();
    let made =
        std::process::Command::new(root.join("std/live/minify")).arg(folder.path("")).output();
    match made {
        Ok(output) if output.status.success() => {}
        _ => return support::skip("terser is not installed"),
    }
    for (name, _) in SCRIPTS {
        let made = std::fs::read(folder.path(&format!("{name}.min.js"))).unwrap();
        assert!(
            made == minified(name),
            "std/live/{name}.min.js is not made of {name}.js: run std/live/minify"
        );
    }
}
