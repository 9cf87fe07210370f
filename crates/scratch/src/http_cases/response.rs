//! Responses in the bytes of a connection, read without mercy and without help of the server's code.

/// A response of HTTP/1.
pub(super) struct RawResponse {
    pub(super) version: String,
    pub(super) status: u64,
    /// Names in lower case, in the order of the lines.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    /// Whether the body ends as its head says.
    pub(super) is_complete: bool,
    /// Bytes after a switch of protocols.
    pub(super) after: Vec<u8>,
}

impl RawResponse {
    /// All values of a header, joined as RFC 9110 section 5.3 says.
    pub(super) fn header(&self, name: &str) -> Option<String> {
        let values: Vec<&str> =
            self.headers.iter().filter(|(own, _)| own == name).map(|(_, v)| v.as_str()).collect();
        (!values.is_empty()).then(|| values.join(", "))
    }
}

/// Where a part begins in a text.
pub(super) fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len().max(1)).position(|window| window == part)
}

/// The final and the interim responses.
pub(super) fn split(
    received: &[u8],
    is_head: bool,
    closed: bool,
) -> (Vec<RawResponse>, Vec<RawResponse>) {
    let (mut rest, mut all) = (received, Vec::new());
    while let Some((response, after)) = next(rest, is_head, closed) {
        let is_switch = response.status == 101;
        all.push(response);
        if is_switch {
            break;
        }
        rest = after;
    }
    all.into_iter().partition(|response| response.status >= 200 || response.status == 101)
}

fn next(received: &[u8], is_head: bool, closed: bool) -> Option<(RawResponse, &[u8])> {
    let end = find(received, b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&received[..end]).into_owned();
    let mut rest = &received[end + 4..];
    let mut lines = head.split("\r\n");
    let (version, status) = lines.next()?.split_once(' ')?;
    let status = status.get(..3)?.parse().ok().filter(|_| version.starts_with("HTTP/"))?;
    let fields = lines.filter_map(|line| line.split_once(':'));
    let headers: Vec<_> =
        fields.map(|(name, value)| (name.to_lowercase(), value.trim().to_string())).collect();
    let version = version.to_string();
    let mut response = RawResponse {
        version,
        status,
        headers,
        body: Vec::new(),
        is_complete: true,
        after: Vec::new(),
    };
    let coding = response.header("transfer-encoding").unwrap_or_default().to_lowercase();
    let length = response.header("content-length").and_then(|text| text.parse::<usize>().ok());
    if status == 101 {
        response.after = rest.to_vec();
    } else if status < 200 || is_head || matches!(status, 204 | 304) {
    } else if coding.contains("chunked") {
        (response.body, response.is_complete, rest) = chunks(rest);
    } else if let Some(length) = length {
        let (body, after) = rest.split_at(length.min(rest.len()));
        response.is_complete = body.len() == length;
        response.body = body.to_vec();
        rest = after;
    } else {
        response.body = rest.to_vec();
        response.is_complete = closed;
        rest = b"";
    }
    Some((response, rest))
}

/// The data of chunks (RFC 9112 section 7.1), whether they end, and what follows them.
fn chunks(mut rest: &[u8]) -> (Vec<u8>, bool, &[u8]) {
    let mut body = Vec::new();
    while let Some(end) = find(rest, b"\r\n") {
        let line = String::from_utf8_lossy(&rest[..end]).into_owned();
        let size = line.split(';').next().unwrap_or_default().trim();
        let Ok(size) = usize::from_str_radix(size, 16) else { break };
        if size == 0 {
            return match find(&rest[end..], b"\r\n\r\n") {
                Some(at) => (body, true, &rest[end + at + 4..]),
                None => (body, false, b""),
            };
        }
        let data = &rest[end + 2..];
        if data.len() < size + 2 {
            body.extend_from_slice(data);
            return (body, false, b"");
        }
        body.extend_from_slice(&data[..size]);
        rest = &data[size + 2..];
    }
    (body, false, rest)
}
