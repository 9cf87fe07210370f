//! A server that says what it is told to.

use std::cell::Cell;
use std::rc::Rc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What a server says to each request, and whether it then closes the connection.
pub(crate) struct Says {
    pub(crate) answers: Vec<String>,
    pub(crate) closes: bool,
}

/// A server that gives its answers in order, the last one again and again. Counts the requests.
pub(crate) async fn server(says: Says) -> (String, Rc<Cell<usize>>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let (count, says) = (Rc::new(Cell::new(0)), Rc::new(says));
    let counted = count.clone();
    tokio::task::spawn_local(async move {
        loop {
            let (connection, _) = listener.accept().await.unwrap();
            tokio::task::spawn_local(serve(connection, says.clone(), counted.clone()));
        }
    });
    (endpoint, count)
}

async fn serve(mut connection: TcpStream, says: Rc<Says>, count: Rc<Cell<usize>>) {
    let mut received = Vec::new();
    loop {
        while !received.windows(4).any(|end| end == b"\r\n\r\n") {
            if connection.read_buf(&mut received).await.unwrap_or(0) == 0 {
                return;
            }
        }
        received.clear();
        let number = count.replace(count.get() + 1);
        let answer = says.answers.get(number).or(says.answers.last()).unwrap();
        if connection.write_all(answer.as_bytes()).await.is_err() || says.closes {
            return;
        }
    }
}
