//! What uploads cost: the processor time of a server for each gigabyte that is put into a folder.
//!
//! `cargo run --release -p runnel-http --example uploads -- [MEGABYTES COUNT CONNECTIONS FOLDER]`
//!
//! The server is a process of its own, so that the time of the clients does not count.

#![allow(clippy::print_stdout)]

use runnel_http::{Limits, ServerOptions, serve};
use runnel_store::{Disk, Error, Kind, Result};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::LocalOptions;

/// Clock ticks of `/proc/PID/stat` in a second.
const TICKS: f64 = 100.0;

fn failed(error: impl std::fmt::Display) -> Error {
    Error::new(Kind::Failed, error.to_string())
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, folder] = &arguments[..]
        && mode == "serve"
    {
        return server(Path::new(folder));
    }
    let number = |at: usize, default: usize| {
        arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (megabytes, count, connections) = (number(0, 64), number(1, 32), number(2, 16));
    let folder = match arguments.get(3) {
        Some(folder) => folder.into(),
        None => std::env::temp_dir().join(format!("uploads-{}", std::process::id())),
    };
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let result = measure(&folder, megabytes, count, connections);
    std::fs::remove_dir_all(&folder).map_err(failed)?;
    result
}

/// Serves a folder and prints the port.
fn server(folder: &Path) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())
        .map_err(failed)?;
    runtime.block_on(async move {
        let disk = Disk::new(folder)?;
        let limits = Limits { body: 64 << 30, ..Limits::default() };
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let options = ServerOptions { address, limits, ..ServerOptions::default() };
        let server = serve(Rc::new(disk), options).await?;
        println!("{}", server.port());
        let _ = tokio::signal::ctrl_c().await;
        server.stop(Duration::from_secs(1)).await;
        Ok(())
    })
}

fn measure(folder: &Path, megabytes: usize, count: usize, connections: usize) -> Result<()> {
    let mut server = Command::new(std::env::current_exe().map_err(failed)?)
        .arg("serve")
        .arg(folder)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut line = String::new();
    if let Some(output) = server.stdout.take() {
        BufReader::new(output).read_line(&mut line).map_err(failed)?;
    }
    let port: u16 = line.trim().parse().map_err(failed)?;
    let (began, before) = (Instant::now(), cpu(server.id())?);
    let next = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..connections)
        .map(|_| {
            let next = next.clone();
            std::thread::spawn(move || client(port, megabytes << 20, count, &next))
        })
        .collect();
    for client in clients {
        client.join().map_err(|_| failed("a client panicked"))?.map_err(failed)?;
    }
    let (user, system) = cpu(server.id())?;
    let (user, system) = (user - before.0, system - before.1);
    let gigabytes = (megabytes * count) as f64 / 1024.0;
    let took = began.elapsed().as_secs_f64();
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id()));
    let status = status.map_err(failed)?;
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    println!(
        "{gigabytes:.1} GB in {took:.1} s: {:.2} s/GB ({:.2} user, {:.2} system), {peak}",
        (user + system) / gigabytes,
        user / gigabytes,
        system / gigabytes
    );
    server.kill().map_err(failed)?;
    server.wait().map_err(failed)?;
    Ok(())
}

/// The processor time of a process, in seconds: user and system.
fn cpu(process: u32) -> Result<(f64, f64)> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).map_err(failed)?;
    let (_, rest) = stat.rsplit_once(')').ok_or_else(|| failed("no such process"))?;
    let mut fields = rest.split_whitespace().skip(11).map(|text| text.parse().unwrap_or(0.0));
    let mut next = || fields.next().unwrap_or(0.0) / TICKS;
    Ok((next(), next()))
}

/// Puts files over one connection until there are none left.
fn client(port: u16, length: usize, count: usize, next: &AtomicUsize) -> std::io::Result<()> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    let piece: Vec<u8> = (0..1 << 20).map(|at: usize| ((at * 31) >> 3) as u8).collect();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= count {
            return Ok(());
        }
        let head = format!(
            "PUT /f{number} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes())?;
        for at in (0..length).step_by(piece.len()) {
            stream.write_all(&piece[..piece.len().min(length - at)])?;
        }
        let mut answer = [0; 4096];
        let read = stream.read(&mut answer)?;
        if !answer[..read].starts_with(b"HTTP/1.1 20") {
            let text = String::from_utf8_lossy(&answer[..read]).into_owned();
            return Err(std::io::Error::other(text));
        }
    }
}
