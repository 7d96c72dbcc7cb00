//! The socket of `omr watch --socket`: programs of this machine list, read and send letters by JSON-RPC 2.0, one object
//! a line.

use super::letters::destination;
use super::recipient::{known, resolve};
use super::senders::Names;
use super::{PlaceArgs, ServerArgs, block_on};
use crate::commands::full::access::TokenArg;
use crate::commands::full::network::connect;
use crate::error::CliError;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use omr_console::Ui;
use omr_mail::{
    Draft, Home, Identity, Inbox, Letter, MailError, Reply, Rules, ShortAddress, delete, stated,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;
use std::time::Duration;

/// The name of the socket in the identity's folder.
const NAME: &str = "omr.sock";
/// Longest request in bytes.
const MAX_LINE: u64 = 64 << 20;
/// The time that a program may take to read what it is sent.
const PATIENCE: Duration = Duration::from_secs(5);

/// Codes of errors of the standard.
const NO_JSON: i64 = -32700;
const NO_REQUEST: i64 = -32600;
const NO_METHOD: i64 = -32601;
const BAD_PARAMS: i64 = -32602;
/// The code of errors of this program.
const FAILED: i64 = -32000;

const METHODS: [&str; 10] = [
    "list",
    "read",
    "mark",
    "delete",
    "mute",
    "unmute",
    "muted",
    "send",
    "address",
    "subscribe",
];

/// A request, besides its id.
#[derive(Deserialize)]
struct Incoming {
    jsonrpc: String,
    method: String,
    #[serde(default)]
    params: Value,
}

#[derive(Deserialize)]
#[serde(
    tag = "method",
    content = "params",
    rename_all = "camelCase",
    deny_unknown_fields
)]
enum Call {
    List {
        #[serde(default)]
        all: bool,
        last: Option<u64>,
    },
    Read {
        number: u64,
    },
    Mark {
        numbers: Vec<u64>,
    },
    Delete {
        numbers: Vec<u64>,
    },
    Mute {
        sender: String,
    },
    Unmute {
        sender: String,
    },
    Muted {},
    Send(Outgoing),
    Address {},
    Subscribe {},
}

/// A letter to be sent: to an address or as the answer to a letter, with a text or with bytes in base64.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Outgoing {
    to: Option<String>,
    reply: Option<u64>,
    text: Option<String>,
    content: Option<String>,
    name: Option<String>,
    subject: Option<String>,
    media_type: Option<String>,
    #[serde(default)]
    signed: bool,
}

/// An error as the standard has it.
struct Problem {
    code: i64,
    message: String,
}

impl Problem {
    fn new(code: i64, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message }
    }
}

impl<E: Into<CliError>> From<E> for Problem {
    fn from(error: E) -> Self {
        Self::new(FAILED, error.into().text())
    }
}

/// The socket of an identity, which other users cannot open. It is removed when dropped.
pub(super) struct Socket {
    listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    /// Opens the socket in the identity's folder. The caller is the only program that fetches into the inbox, so that a
    /// socket that is there is left from a program that ended.
    ///
    /// Errors: `File`.
    pub(super) fn open(home: &Home) -> Result<Self, MailError> {
        let path = home.path(NAME);
        let failed = |error| MailError::File(path.clone(), error);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        // The folder is its owner's alone, so that nobody else can open the socket before this.
        let listener = UnixListener::bind(&path).map_err(failed)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600)).map_err(failed)?;
        Ok(Self { listener, path })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// A program at the socket.
struct Connection {
    stream: Mutex<UnixStream>,
    is_subscribed: AtomicBool,
}

impl Connection {
    /// Sends one object. A program that does not read for [`PATIENCE`] is disconnected.
    fn send(&self, object: &Value) -> io::Result<()> {
        let mut stream = held(&self.stream);
        let sent = stream.write_all(format!("{object}\n").as_bytes());
        if sent.is_err() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        sent
    }
}

fn held<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The server of a socket.
pub(super) struct Daemon<'a> {
    home: &'a Home,
    inbox: &'a Inbox,
    token: &'a TokenArg,
    ui: &'a Ui,
    socket: &'a Socket,
    connections: Mutex<Vec<Arc<Connection>>>,
    is_ended: AtomicBool,
}

impl<'a> Daemon<'a> {
    pub(super) fn new(
        home: &'a Home,
        inbox: &'a Inbox,
        token: &'a TokenArg,
        ui: &'a Ui,
        socket: &'a Socket,
    ) -> Self {
        Self {
            home,
            inbox,
            token,
            ui,
            socket,
            connections: Mutex::default(),
            is_ended: AtomicBool::new(false),
        }
    }

    /// Serves programs, each in a thread of its own, until the returned value is dropped.
    pub(super) fn serve_in<'s>(&'s self, scope: &'s Scope<'s, '_>) -> Serving<'s, 'a> {
        scope.spawn(|| self.serve(scope));
        Serving(self)
    }

    fn serve<'s>(&'s self, scope: &'s Scope<'s, '_>) {
        for stream in self.socket.listener.incoming() {
            if self.is_ended.load(Ordering::Acquire) {
                return;
            }
            let Ok(stream) = stream else { continue };
            if let Ok(connection) = self.admit(&stream) {
                scope.spawn(move || self.converse(&stream, &connection));
            }
        }
    }

    /// Ends all connections, and with them their threads.
    fn end(&self) {
        self.is_ended.store(true, Ordering::Release);
        for connection in held(&self.connections).iter() {
            let _ = held(&connection.stream).shutdown(Shutdown::Both);
        }
        // The thread that accepts connections notices the end.
        let _ = UnixStream::connect(&self.socket.path);
    }

    fn admit(&self, stream: &UnixStream) -> io::Result<Arc<Connection>> {
        stream.set_write_timeout(Some(PATIENCE))?;
        let connection = Arc::new(Connection {
            stream: Mutex::new(stream.try_clone()?),
            is_subscribed: AtomicBool::new(false),
        });
        held(&self.connections).push(connection.clone());
        // A connection that comes while the others are ended has missed that.
        if self.is_ended.load(Ordering::Acquire) {
            stream.shutdown(Shutdown::Both)?;
        }
        Ok(connection)
    }

    fn converse(&self, stream: &UnixStream, connection: &Arc<Connection>) {
        let mut lines = BufReader::new(stream);
        while let Ok(Some(line)) = next_line(&mut lines) {
            let answer = match line {
                Some(line) if line.trim_ascii().is_empty() => continue,
                Some(line) => self.answer(&line, connection),
                None => {
                    let expected = format!("expected a request of at most {MAX_LINE} bytes");
                    let problem = Problem::new(NO_REQUEST, expected + ", found a longer one");
                    let _ = connection.send(&refusal(Value::Null, problem));
                    break;
                }
            };
            if answer.is_some_and(|answer| connection.send(&answer).is_err()) {
                break;
            }
        }
        held(&self.connections).retain(|other| !Arc::ptr_eq(other, connection));
    }

    /// Returns the answer to a request; `None` to one without an id, which the standard leaves unanswered.
    fn answer(&self, line: &[u8], connection: &Connection) -> Option<Value> {
        let value: Value = match serde_json::from_slice(line) {
            Ok(value) => value,
            Err(error) => {
                let problem = Problem::new(NO_JSON, format!("expected JSON: {error}"));
                return Some(refusal(Value::Null, problem));
            }
        };
        let id = value.get("id").cloned();
        let done = self.perform(value, connection);
        Some(match (id, done) {
            (Some(id), Ok(result)) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            (Some(id), Err(problem)) => refusal(id, problem),
            (None, Err(problem)) if problem.code == NO_REQUEST => refusal(Value::Null, problem),
            (None, _) => return None,
        })
    }

    fn perform(&self, request: Value, connection: &Connection) -> Result<Value, Problem> {
        let wrong = |error| Problem::new(NO_REQUEST, format!("expected a request: {error}"));
        let Incoming {
            jsonrpc,
            method,
            params,
        } = serde_json::from_value(request).map_err(wrong)?;
        if jsonrpc != "2.0" {
            let found = format!("expected \"jsonrpc\": \"2.0\", found {jsonrpc:?}");
            return Err(Problem::new(NO_REQUEST, found));
        }
        if !METHODS.contains(&&method[..]) {
            let all = METHODS.join(", ");
            let expected = format!("expected one of {all}, found {method:?}");
            return Err(Problem::new(NO_METHOD, expected));
        }
        let fields = if params.is_null() { json!({}) } else { params };
        let call = json!({ "method": method, "params": fields });
        let bad = |error| Problem::new(BAD_PARAMS, format!("{method}: {error}"));
        self.call(serde_json::from_value(call).map_err(bad)?, connection)
    }

    fn call(&self, call: Call, connection: &Connection) -> Result<Value, Problem> {
        let inbox = self.inbox;
        Ok(match call {
            Call::List { all, last } => {
                let names = Names::of(self.home)?;
                let letters = match last {
                    Some(last) => inbox.page(u64::MAX, last)?,
                    None => inbox.list(all)?,
                };
                letters
                    .iter()
                    .map(|letter| value(&names.shown(letter)))
                    .collect()
            }
            Call::Read { number } => {
                let names = Names::of(self.home)?;
                let (letter, body) = (inbox.letter(number)?, inbox.body(number)?);
                let (text, content) = match std::str::from_utf8(&body) {
                    Ok(text) => (Some(text), None),
                    Err(_) => (None, Some(STANDARD.encode(&body))),
                };
                json!({ "letter": value(&names.shown(&letter)), "text": text, "content": content })
            }
            Call::Mark { numbers } => {
                inbox.mark_read(&numbers)?;
                Value::Null
            }
            Call::Delete { numbers } => {
                delete(self.home, &numbers)?;
                Value::Null
            }
            Call::Mute { sender } => {
                inbox.mute(&self.home.sender(&sender)?)?;
                Value::Null
            }
            Call::Unmute { sender } => inbox.unmute(&self.home.sender(&sender)?)?.into(),
            Call::Muted {} => {
                let (names, muted) = (Names::of(self.home)?, inbox.muted()?);
                muted.iter().map(|sender| names.name(sender)).collect()
            }
            Call::Send(letter) => self.send(letter)?,
            Call::Address {} => {
                let address = Identity::open(self.home)?.address()?;
                let short = ShortAddress::of(&address).to_string();
                json!({ "short": short, "text": address.to_text() })
            }
            Call::Subscribe {} => {
                connection.is_subscribed.store(true, Ordering::Release);
                Value::Null
            }
        })
    }

    /// Sends a letter. Returns the places of its messages on the board.
    fn send(&self, outgoing: Outgoing) -> Result<Value, Problem> {
        let place = PlaceArgs {
            server: None,
            ca: None,
        };
        let reply = outgoing.reply.map(|number| Reply::to(self.inbox, number));
        let reply = reply.transpose()?;
        let to = match (&outgoing.to, &reply) {
            (None, Some(reply)) => resolve(self.home, &reply.to, &place, self.ui)?,
            (Some(to), None) => known(self.home, to, &place, self.ui)?,
            _ => return Err(bad_send("either \"to\" or \"reply\"")),
        };
        let content = match (outgoing.text, outgoing.content) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(content)) => STANDARD
                .decode(content)
                .map_err(|_| bad_send("\"content\" in base64"))?,
            _ => return Err(bad_send("either \"text\" or \"content\"")),
        };
        let signer = if outgoing.signed || reply.is_some() {
            Some(Identity::open(self.home)?.signer()?)
        } else {
            None
        };
        let (subject, media_type) = (outgoing.subject, outgoing.media_type);
        let letter = Letter {
            name: outgoing.name,
            content,
            header: stated(signer.is_some(), reply.as_ref(), subject, media_type),
        };
        let rules = Rules {
            signer: signer.as_ref(),
            ..Rules::default()
        };
        let server = ServerArgs {
            place,
            token: self.token.clone(),
        };
        let endpoint = destination(self.home, &server, &to, self.ui)?.endpoint();
        let sent = block_on(async {
            let client = connect(endpoint, self.ui)?;
            let draft = Draft::new(&client, &to, &[letter], &rules).await?;
            Ok(draft.post(&client).await?)
        })?;
        let ranges: Vec<_> = sent.into_iter().flat_map(|sent| sent.ranges).collect();
        Ok(json!({ "ranges": ranges }))
    }

    /// Sends new letters to the programs that subscribed.
    pub(super) fn announce(&self, letter: &impl Serialize) {
        let news = json!({ "jsonrpc": "2.0", "method": "letter", "params": value(letter) });
        let all = held(&self.connections).clone();
        for connection in all {
            if connection.is_subscribed.load(Ordering::Acquire) {
                // A program that is gone has nothing to lose.
                let _ = connection.send(&news);
            }
        }
    }
}

/// A daemon that serves programs, until it is dropped.
pub(super) struct Serving<'s, 'a>(&'s Daemon<'a>);

impl Drop for Serving<'_, '_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Reads a line. Returns `None` at the end, and `Some(None)` for a line that is too long.
fn next_line(lines: &mut impl BufRead) -> io::Result<Option<Option<Vec<u8>>>> {
    let mut line = Vec::new();
    lines.take(MAX_LINE + 1).read_until(b'\n', &mut line)?;
    Ok(match line.len() {
        0 => None,
        len if len as u64 > MAX_LINE => Some(None),
        _ => Some(Some(line)),
    })
}

fn refusal(id: Value, problem: Problem) -> Value {
    let Problem { code, message } = problem;
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

fn bad_send(expected: &str) -> Problem {
    Problem::new(BAD_PARAMS, format!("send: expected {expected}"))
}

fn value(of: &impl Serialize) -> Value {
    serde_json::to_value(of).unwrap_or_default()
}
