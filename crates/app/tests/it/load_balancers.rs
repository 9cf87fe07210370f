//! Load balancers for TCP that speak the PROXY protocol: HAProxy, and curl as one of its own.

use crate::support;

use crate::support::{Folder, Process, free_port, runnel};
use std::process::Command;

/// A program that answers who asks, behind a load balancer on this machine.
fn site(folder: &Folder, port: u16, options: &str) -> Process {
    let text = format!(
        "scheme Site {{ /who {{ get {{ request:peer }} }} }}\n\
         #HTTPServer{{ port: {port}, proxyProtocol: true, trustedProxies: '127.0.0.1'{options} }} → #Site{{}}.\n"
    );
    let file = folder.write(&format!("site{port}.st"), text);
    let mut command = runnel();
    command.arg(file).env("XDG_CONFIG_HOME", folder.path("config"));
    let mut process = Process::start(&mut command);
    process.listens(port);
    process
}

/// What curl prints, and its exit status.
fn curl(arguments: &[&str]) -> (String, Option<i32>) {
    let output = Command::new("curl").arg("-sSk").args(arguments).output().unwrap();
    (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code())
}

#[test]
fn curl_speaks_for_itself() {
    if Command::new("curl").arg("-V").output().is_err() {
        return support::skip("curl is not installed");
    }
    let (folder, port) = (Folder::new(), free_port());
    let _site = site(&folder, port, "");
    let address = format!("http://127.0.0.1:{port}/who");
    let (peer, _) = curl(&["--haproxy-protocol", &address]);
    assert!(peer.starts_with("127.0.0.1:"), "{peer}");
    // An empty reply, or a connection that is reset.
    let (nothing, status) = curl(&[&address]);
    assert!(nothing.is_empty() && matches!(status, Some(52 | 56)), "{status:?}");
    let (other, status) = curl(&["--haproxy-protocol", "--interface", "127.0.0.2", &address]);
    assert_eq!((other.as_str(), status.is_some_and(|status| status != 0)), ("", true));
}

fn haproxy() -> Option<&'static str> {
    let found = ["haproxy", "/usr/sbin/haproxy"];
    found.into_iter().find(|name| Command::new(name).arg("-v").output().is_ok())
}

#[test]
fn haproxy_names_its_clients() {
    let Some(haproxy) = haproxy() else { return support::skip("haproxy is not installed") };
    let folder = Folder::new();
    let (plain, secure) = (free_port(), free_port());
    let _plain = site(&folder, plain, "");
    let _secure = site(&folder, secure, ", certificate: 'local'");
    let mut configuration = "global\n  maxconn 100\ndefaults\n  mode tcp\n  timeout connect 9s\n  \
                             timeout client 30s\n  timeout server 30s\n"
        .to_string();
    let mut fronts = Vec::new();
    for (upstream, scheme) in [(plain, "http"), (secure, "https")] {
        for version in ["send-proxy", "send-proxy-v2"] {
            let port = free_port();
            configuration += &format!(
                "listen front{port}\n  bind 127.0.0.1:{port}\n  server site 127.0.0.1:{upstream} {version} check\n"
            );
            fronts.push((port, format!("{scheme}://127.0.0.1:{port}/who")));
        }
    }
    let file = folder.write("haproxy.cfg", configuration);
    let mut balancer = Process::start(Command::new(haproxy).arg("-db").arg("-f").arg(&file));
    for (port, address) in fronts {
        balancer.listens(port);
        let (peer, _) = curl(&["--interface", "127.0.0.2", &address]);
        assert!(peer.starts_with("127.0.0.2:"), "{address}: {peer}");
    }
}
