//! The page of the admin port about the buckets of an S3 server.

use crate::support::browser::Browser;
use crate::support::http::{self, Reply};
use crate::support::{self, Folder, Process, free_port, runnel};
use serde_json::{Value, json};

const TOKEN: &str = "correct-horse-battery";

struct Watched {
    process: Process,
    _folder: Folder,
    port: u16,
    admin: u16,
}

impl Watched {
    /// A server with more options, and more of a program after its start.
    fn start(options: &str, more: &str) -> Watched {
        let folder = Folder::new();
        let (port, admin) = (free_port(), free_port());
        let program = format!(
            "server ← #S3Server{{ port: {port}, admin: {admin}, {options} }} → #MemoryStore{{}}.
             server start. {more}"
        );
        let file = folder.write("watched.st", program);
        let mut process = Process::start(runnel().arg(file));
        process.listens(port);
        process.listens(admin);
        Watched { process, _folder: folder, port, admin }
    }

    fn put(&self, target: &str, body: &str) -> Reply {
        let reply = http::send(self.port, "PUT", target, &[], body.as_bytes()).unwrap();
        assert_eq!(reply.status, 200, "{target}: {}", reply.text());
        reply
    }

    fn page(&self, query: &str) -> String {
        let reply = http::get(self.admin, &format!("/buckets{query}"));
        assert_eq!(reply.status, 200, "{query}");
        let policy = reply.header("content-security-policy").unwrap();
        assert!(
            policy.contains("default-src 'none'") && !policy.contains("script-src"),
            "{policy}"
        );
        reply.text()
    }
}

#[test]
fn buckets_folders_and_objects_are_shown_page_by_page() {
    let server = Watched::start("", "");
    server.put("/photos", "");
    server.put("/empty", "");
    let versions = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    server.put("/photos?versioning", versions);
    for number in 0..105 {
        server.put(&format!("/photos/cats/{number:03}.txt"), "purr, which nobody else reads");
    }
    server.put("/photos/cats/000.txt", "again");
    server.put("/photos/%3Cb%3E%26%22%27", "x");
    let secret = [("x-amz-meta-password", "hunter2")];
    http::send(server.port, "PUT", "/photos/meta", &secret, b"x").unwrap();

    let dashboard = http::get(server.admin, "/").text();
    let link = format!("<a href=\"buckets\">Buckets on port {}</a>", server.port);
    assert!(dashboard.contains(&link), "{dashboard}");
    let page = server.page("");
    assert!(page.contains(">photos</a></td><td>over 100</td>"), "{page}");
    assert!(page.contains(">empty</a></td><td>0</td><td>0 B</td><td>Off</td>"), "{page}");
    assert!(page.contains("<td>Enabled</td>") && page.contains("no users"), "{page}");

    let page = server.page("?bucket=photos");
    assert!(page.contains("<a href=\"?bucket=photos&amp;prefix=cats%2F\" class=\"folder\">cats/"));
    assert!(page.contains("&lt;b&gt;&amp;&quot;&#39;</a>") && !page.contains("<b>"), "{page}");
    let page = server.page("?bucket=photos&prefix=cats/");
    assert!(page.contains(">000.txt</a></td><td>5 B</td>"), "{page}");
    assert_eq!(page.matches(".txt</a>").count(), 100);
    let next = "?bucket=photos&amp;prefix=cats%2F&amp;after=cats%2F099.txt";
    assert!(page.contains(&format!("<a href=\"{next}\" rel=\"next\">Next page</a>")), "{page}");
    let page = server.page(&next.replace("&amp;", "&"));
    assert_eq!(page.matches(".txt</a>").count(), 5);
    assert!(!page.contains("Next page") && page.contains("First page"), "{page}");

    let page = server.page("?bucket=photos&key=cats/000.txt");
    for shown in ["5 bytes", "binary/octet-stream", "CRC64NVME", "Former versions", "29 B"] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    let page = server.page("?bucket=photos&key=meta");
    assert!(page.contains("1 bytes") && !page.contains("hunter2"), "{page}");
    http::send(server.port, "DELETE", "/photos/meta", &[], b"").unwrap();
    let page = server.page("?bucket=photos&key=meta");
    assert!(page.contains("was deleted") && page.contains("delete marker"), "{page}");
}

#[test]
fn nothing_is_changed_and_no_content_is_served() {
    let server = Watched::start("", "");
    server.put("/photos", "");
    server.put("/photos/cat.txt", "purr");
    for missing in ["?bucket=photox", "?bucket=photos&key=dog.txt", "?bucket=.runnel-s3&key=x"] {
        assert_eq!(http::get(server.admin, &format!("/buckets{missing}")).status, 404, "{missing}");
    }
    for missing in ["/photos/cat.txt", "/buckets/photos/cat.txt"] {
        assert_eq!(http::get(server.admin, missing).status, 404, "{missing}");
    }
    for method in ["PUT", "POST", "DELETE", "PATCH"] {
        let target = "/buckets?bucket=photos&key=cat.txt";
        let reply = http::send(server.admin, method, target, &[], b"").unwrap();
        assert_eq!(reply.status, 405, "{method}");
    }
    assert!(!server.page("?bucket=photos&key=cat.txt").contains("purr"));
    assert_eq!(http::get(server.port, "/photos/cat.txt").text(), "purr");
}

#[test]
fn keys_of_a_server_with_users_need_the_token() {
    let users = "users: #{ mainkey: 'mainsecret' }";
    let server = Watched::start(users, "");
    let reply = http::get(server.admin, "/buckets");
    assert_eq!(reply.status, 403);
    assert!(reply.text().contains("give the server an `adminToken:`"), "{}", reply.text());
    let server = Watched::start(&format!("{users}, adminToken: '{TOKEN}'"), "");
    assert_eq!(http::get(server.admin, "/buckets").status, 401);
    let bearer = format!("Bearer {TOKEN}");
    let headers = [("Authorization", bearer.as_str())];
    let reply = http::send(server.admin, "GET", "/buckets", &headers, b"").unwrap();
    assert_eq!(reply.status, 200);
    let page = reply.text();
    assert!(page.contains("There are no buckets"), "{page}");
    assert!(!page.contains("mainsecret") && !page.contains("no users"), "{page}");
}

#[test]
fn each_server_of_an_admin_port_has_its_page_until_it_stops() {
    let other = free_port();
    let more = format!(
        "other ← #S3Server{{ port: {other}, admin: server adminPort }} → #MemoryStore{{}}.
         other start. server setScheme: #MemoryStore{{}}. other stop. other start.
         stderr println: 'both run'."
    );
    let server = Watched::start("", &more);
    server.process.err_shows("both run");
    http::send(other, "PUT", "/theirs", &[], b"").unwrap();
    server.put("/ours", "");
    let dashboard = http::get(server.admin, "/").text();
    assert_eq!(dashboard.matches("Buckets on port").count(), 2, "{dashboard}");
    let page = server.page("");
    assert!(page.contains(">ours</a>") && !page.contains(">theirs</a>"), "{page}");
    let page = server.page("-2");
    assert!(page.contains(">theirs</a>") && !page.contains(">ours</a>"), "{page}");
}

#[test]
fn the_pages_work_without_javascript_and_for_everybody() {
    let (plain, browser) = match (Browser::without_javascript(), Browser::start()) {
        (Ok(plain), Ok(browser)) => (plain, browser),
        (Err(reason), _) | (_, Err(reason)) => return support::skip(&reason),
    };
    let server = Watched::start("", "");
    let long = "a-very-long-name-of-an-object-without-any-space".repeat(4);
    server.put("/photos", "");
    server.put(&format!("/photos/cats/{long}.txt"), "purr");
    let address = format!("http://127.0.0.1:{}/", server.admin);
    plain.open(&address);
    plain.click("nav a[href=buckets]");
    plain.click("tbody a");
    assert_eq!(plain.text("h1"), "photos/");
    plain.type_into("#prefix", "ca\n");
    let address_of = || plain.get("/url").as_str().unwrap_or_default().to_string();
    support::eventually("the prefix is asked for", || address_of().contains("prefix=ca"));
    plain.click("tbody a");
    assert_eq!(plain.text("h1"), "photos/cats/");
    plain.click("tbody a");
    assert_eq!(plain.text("h1"), format!("{long}.txt"));
    assert!(plain.text("main").contains("4 bytes"));
    plain.click("header a[href='?bucket=photos']");
    assert_eq!(plain.text("h1"), "photos/");

    let key = format!("buckets?bucket=photos&key=cats/{long}.txt");
    let pages =
        ["", "buckets", "buckets?bucket=photos", "buckets?bucket=photos&prefix=cats/", &key];
    for scheme in ["light", "dark"] {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        browser.tell("Emulation.setEmulatedMedia", json!({ "features": features }));
        for (page, width) in pages.iter().flat_map(|page| [(page, 1_200), (page, 320)]) {
            let size = json!({
                "width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false
            });
            browser.tell("Emulation.setDeviceMetricsOverride", size);
            browser.open(&format!("{address}{page}"));
            let wider = "return document.documentElement.scrollWidth - innerWidth";
            let wider = browser.script(wider).as_i64().unwrap();
            assert!(wider <= 0, "{page} at {width} is {wider} too wide");
            match browser.problems() {
                Some(found) => assert_eq!(found, json!([]), "{page} {scheme} {width}"),
                None => return support::skip("axe-core is not installed"),
            }
        }
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
    let dark: Value = browser.script("return getComputedStyle(document.body).backgroundColor");
    assert_eq!(dark, "rgb(20, 22, 26)");
}
