//! A display without a screen, and a user in front of it: Xvfb and xdotool.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long the toolkit may take from the focus to the next key.
const SETTLING: Duration = Duration::from_millis(150);

/// A running Xvfb; it ends with the test.
pub(crate) struct Display {
    server: Child,
    number: String,
}

impl Display {
    /// Starts one, where Xvfb, xdotool and the window host are there.
    pub(crate) fn start() -> Result<Display, String> {
        if !super::window_host().is_file() {
            return Err("runnel-window is not built: cargo build -p runnel-window".into());
        }
        let found = Command::new("xdotool")
            .arg("version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if found.is_err() {
            return Err("xdotool is missing: apt install xdotool".into());
        }
        let mut server = Command::new("Xvfb")
            .args([
                "-displayfd",
                "1",
                "-screen",
                "0",
                "1000x800x24",
                "-nolisten",
                "tcp",
                "-noreset",
            ])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("Xvfb: {error}: apt install xvfb"))?;
        let mut number = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut number).unwrap();
        Ok(Display { server, number: number.trim().into() })
    }

    /// Makes the command show its windows here.
    pub(crate) fn of(&self, command: &mut Command) {
        command.env("DISPLAY", format!(":{}", self.number)).env_remove("WAYLAND_DISPLAY");
    }

    /// Runs xdotool and answers its output, empty where it fails.
    pub(crate) fn tool(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("xdotool");
        self.of(&mut command);
        let output = command.args(arguments).stderr(Stdio::null()).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().into()
    }

    /// Waits for a window of this title, and gives it the focus.
    pub(crate) fn window(&self, title: &str) -> String {
        let mut id = String::new();
        super::eventually(&format!("there is a window `{title}`"), || {
            let found = self.tool(&["search", "--onlyvisible", "--name", &format!("^{title}$")]);
            id = found.lines().next().unwrap_or_default().into();
            !id.is_empty()
        });
        self.tool(&["windowfocus", "--sync", &id]);
        std::thread::sleep(SETTLING);
        id
    }

    /// Replaces the text of the field that has the focus, and presses Return.
    pub(crate) fn enter(&self, text: &str) {
        self.tool(&["key", "ctrl+a"]);
        self.tool(&["type", "--delay", "20", text]);
        self.tool(&["key", "Return"]);
    }

    /// Presses the first button at a place of a window.
    pub(crate) fn click(&self, window: &str, x: u32, y: u32) {
        let (x, y) = (x.to_string(), y.to_string());
        self.tool(&["mousemove", "--sync", "--window", window, &x, &y, "click", "1"]);
    }

    /// Closes a window as a window manager does: the message `WM_DELETE_WINDOW` of ICCCM 4.2.8.1.
    pub(crate) fn close(&self, window: &str) {
        let path = format!("/tmp/.X11-unix/X{}", self.number);
        let mut server = Connection(UnixStream::connect(path).unwrap());
        server.begin();
        let (protocols, delete) = (server.atom("WM_PROTOCOLS"), server.atom("WM_DELETE_WINDOW"));
        let window: u32 = window.parse().unwrap();
        // SendEvent with a ClientMessage of format 32.
        let mut request = vec![25, 0, 11, 0];
        request.extend(window.to_le_bytes());
        request.extend([0; 4]);
        request.extend([33, 32, 0, 0]);
        for number in [window, protocols, delete, 0, 0, 0, 0] {
            request.extend(number.to_le_bytes());
        }
        server.0.write_all(&request).unwrap();
        // The answer to this says that the request before it was handled.
        server.atom("WM_PROTOCOLS");
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        // Both fail only when the server has ended.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// A connection to the X server, in its own protocol.
struct Connection(UnixStream);

impl Connection {
    /// The setup: little-endian, version 11.0, no authorization.
    fn begin(&mut self) {
        self.0.write_all(&[b'l', 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap();
        let mut head = [0; 8];
        self.0.read_exact(&mut head).unwrap();
        assert_eq!(head[0], 1, "the display refuses the connection");
        let mut rest = vec![0; 4 * usize::from(u16::from_le_bytes([head[6], head[7]]))];
        self.0.read_exact(&mut rest).unwrap();
    }

    /// The number of a name.
    fn atom(&mut self, name: &str) -> u32 {
        let padded = name.len().next_multiple_of(4);
        let mut request = vec![16, 0];
        request.extend((2 + padded as u16 / 4).to_le_bytes());
        request.extend((name.len() as u16).to_le_bytes());
        request.extend([0, 0]);
        request.extend(name.bytes());
        request.resize(8 + padded, 0);
        self.0.write_all(&request).unwrap();
        let mut reply = [0; 32];
        self.0.read_exact(&mut reply).unwrap();
        u32::from_le_bytes([reply[8], reply[9], reply[10], reply[11]])
    }
}
