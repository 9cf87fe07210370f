//! A display, the host with its channel, and a hand that types.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long a test waits for something that should happen soon.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long a test watches that nothing happens.
pub(crate) const SILENCE: Duration = Duration::from_millis(400);

pub(crate) const HOST: &str = env!("CARGO_BIN_EXE_runnel-window");

/// A display of its own for a test.
pub(crate) struct Display {
    server: Child,
    pub(crate) name: String,
    /// The session bus, where there is one.
    bus: Option<(Child, String)>,
}

impl Display {
    /// Starts a display; reports what is missing otherwise.
    pub(crate) fn start() -> Option<Display> {
        for (program, package) in [("Xvfb", "xvfb"), ("xdotool", "xdotool")] {
            let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
            if !found.is_ok_and(|output| output.status.success()) {
                runnel_scratch::leave_out(&format!(
                    "tests of native windows: {program} is not installed (package {package})"
                ));
                return None;
            }
        }
        let mut command = Command::new("Xvfb");
        command.args(["-displayfd", "1", "-screen", "0", "1280x800x24", "-nolisten", "tcp"]);
        let mut server = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let name = format!(":{}", line.trim());
        let display = Display { server, name, bus: None };
        // GTK itself may be missing.
        let mut probe = Host::spawn(&display);
        probe.send(&json!(["close"]));
        if probe.ended().code() == Some(69) {
            runnel_scratch::leave_out(
                "tests of native windows: GTK 4 is not installed (libgtk-4-1)",
            );
            return None;
        }
        Some(display)
    }

    /// Starts a session bus, for assistive technology.
    pub(crate) fn with_bus(mut self) -> Option<Display> {
        let mut command = Command::new("dbus-daemon");
        command.args(["--session", "--nofork", "--nopidfile", "--print-address"]);
        command.env("DISPLAY", &self.name);
        let started =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let Ok(mut bus) = started else {
            runnel_scratch::leave_out("the accessibility tree: dbus-daemon is not installed");
            return None;
        };
        let mut address = String::new();
        BufReader::new(bus.stdout.take().unwrap()).read_line(&mut address).unwrap();
        self.bus = Some((bus, address.trim().to_string()));
        Some(self)
    }

    /// A command on this display and its bus.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let bus = self.bus.as_ref().map_or("disabled:", |(_, address)| address.as_str());
        command.env("DISPLAY", &self.name).env("DBUS_SESSION_BUS_ADDRESS", bus);
        command.env_remove("WAYLAND_DISPLAY").env_remove("GDK_BACKEND");
        if self.bus.is_none() {
            command.env("GTK_A11Y", "none");
        }
        command
    }

    /// Runs xdotool; answers what it prints.
    pub(crate) fn hand(&self, arguments: &[&str]) -> String {
        let output = self.command("xdotool").args(arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_string()
    }

    /// The number of the window with a title.
    pub(crate) fn window(&self, title: &str) -> String {
        let found = self.hand(&["search", "--sync", "--name", &format!("^{title}$")]);
        found.lines().last().unwrap_or_default().to_string()
    }

    /// Asks a window to close, as a window manager does.
    pub(crate) fn close_window(&self, window: &str) {
        let output = self.command("python3").args(["-c", CLOSE, window]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        let bus = self.bus.as_mut().map(|(bus, _)| bus);
        for process in bus.into_iter().chain([&mut self.server]) {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// The host, and our end of the channel.
pub(crate) struct Host {
    pub(crate) child: Child,
    stream: Option<UnixStream>,
    received: Vec<u8>,
    sequence: u64,
}

impl Host {
    /// Starts the host on a display.
    pub(crate) fn spawn(display: &Display) -> Host {
        Host::of(display.command(HOST))
    }

    /// Starts the host by a command.
    pub(crate) fn of(mut command: Command) -> Host {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let stdin = Stdio::from(OwnedFd::from(theirs));
        let child = command.arg("0").stdin(stdin).stderr(Stdio::piped()).spawn().unwrap();
        Host { child, stream: Some(ours), received: Vec::new(), sequence: 0 }
    }

    /// Starts the host, opens a window, gives it the focus of the keyboard.
    pub(crate) fn open(display: &Display, window: &Value) -> Host {
        let mut host = Host::spawn(display);
        host.send(&json!(["open", window]));
        assert_eq!(host.next(), json!(["shown", window["id"]]));
        host.focus(display, window["title"].as_str().unwrap());
        host
    }

    fn focus(&self, display: &Display, title: &str) {
        display.hand(&["windowfocus", "--sync", &display.window(title)]);
    }

    pub(crate) fn send(&mut self, frame: &Value) {
        self.send_bytes(frame.to_string().as_bytes());
    }

    pub(crate) fn send_bytes(&mut self, text: &[u8]) {
        let stream = self.stream.as_mut().unwrap();
        stream.write_all(&u32::try_from(text.len()).unwrap().to_le_bytes()).unwrap();
        stream.write_all(text).unwrap();
    }

    /// Writes bytes that need not be a frame.
    pub(crate) fn send_raw(&mut self, bytes: &[u8]) {
        self.stream.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Changes properties: `slot, value, slot, value, …`.
    pub(crate) fn change(&mut self, changes: Value) {
        self.sequence += 1;
        let mut frame = vec![self.sequence.into()];
        frame.extend(changes.as_array().unwrap().iter().cloned());
        self.send(&Value::Array(frame));
    }

    /// The next frame; null at the end, or when none comes within a time.
    pub(crate) fn next_within(&mut self, time: Duration) -> Value {
        let deadline = Instant::now() + time;
        loop {
            if let Some(length) = self.received.first_chunk::<4>() {
                let end = 4 + u32::from_le_bytes(*length) as usize;
                if self.received.len() >= end {
                    let frame = serde_json::from_slice(&self.received[4..end]).unwrap();
                    self.received.drain(..end);
                    return frame;
                }
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Value::Null;
            }
            let stream = self.stream.as_mut().unwrap();
            stream.set_read_timeout(Some(left)).unwrap();
            let mut part = [0; 4096];
            match stream.read(&mut part) {
                Ok(0) => return Value::Null,
                Ok(count) => self.received.extend_from_slice(&part[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return Value::Null,
            }
        }
    }

    pub(crate) fn next(&mut self) -> Value {
        self.next_within(PATIENCE)
    }

    /// The value of the next event of a widget and type; others are passed over.
    pub(crate) fn event(&mut self, id: &str, event: &str) -> Value {
        loop {
            let frame = self.next();
            assert!(!frame.is_null(), "no `{event}` of {id} came");
            if frame[1] == id && frame[2] == event {
                return frame[3].clone();
            }
        }
    }

    /// Waits until a widget tells a text as its `input`, and nothing else behind it.
    ///
    /// # Panics
    /// When the last `input` is another one.
    pub(crate) fn typed(&mut self, id: &str, text: &str) {
        let mut last = Value::Null;
        loop {
            let frame = self.next_within(if last == text { SILENCE } else { PATIENCE });
            if frame.is_null() {
                return assert_eq!(last, text, "the `input` of {id}");
            }
            if frame[1] == id && frame[2] == "input" {
                last = frame[3].clone();
            }
        }
    }

    /// Closes our end of the channel.
    pub(crate) fn hang_up(&mut self) {
        self.stream = None;
    }

    /// Waits until the process ends.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("the host does not end");
    }

    /// What the process said on standard error; it has ended.
    pub(crate) fn complaint(&mut self) -> String {
        let mut text = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends `WM_DELETE_WINDOW` (ICCCM section 4.2.8.1), which xdotool of Debian 12 cannot.
const CLOSE: &str = "
import ctypes, sys
from ctypes import c_int, c_long, c_ulong, c_void_p, c_char_p
x = ctypes.CDLL('libX11.so.6')
x.XOpenDisplay.restype = c_void_p
x.XInternAtom.restype = c_ulong
x.XInternAtom.argtypes = [c_void_p, c_char_p, c_int]
x.XSendEvent.argtypes = [c_void_p, c_ulong, c_int, c_long, c_void_p]
x.XSync.argtypes = [c_void_p, c_int]
class Event(ctypes.Structure):
    _fields_ = [('type', c_int), ('serial', c_ulong), ('sent', c_int), ('display', c_void_p),
        ('window', c_ulong), ('message', c_ulong), ('format', c_int), ('data', c_long * 5),
        ('rest', c_long * 16)]
d = x.XOpenDisplay(None)
atom = lambda name: x.XInternAtom(d, name, 0)
e = Event(type=33, display=d, window=int(sys.argv[1]), message=atom(b'WM_PROTOCOLS'), format=32)
e.data[0] = atom(b'WM_DELETE_WINDOW')
x.XSendEvent(d, e.window, 0, 0, ctypes.byref(e))
x.XSync(d, 0)
";
