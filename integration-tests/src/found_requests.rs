//! Requests that were found by reading the code of a master for what costs it most, by
//! strangers and by an accepted minion: each was dear once.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use halite_crypto::{PrivateKey, SigAlgo, random_bytes};

use crate::wire::msgpack::Item;
use crate::wire::stand_in::{Session, StandIn};

/// Functions of one job.
const FUNCTIONS: usize = 2000;

/// Bytes of a text that is meant for the log.
const TEXT_BYTES: usize = 100 * 1024;

/// Bytes of a return.
const RETURN_BYTES: usize = 4096;

/// A pattern that takes long to match.
const SLOW: &str = "(a+)+$";

/// A key that is nobody's.
const NO_KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

/// What strangers send: jobs of many functions, sign-ins that are packed oddly, texts for
/// the log, and a question of another master that was recorded.
pub(crate) fn of_strangers(
    (known_id, public_pem): (&str, &str),
    master_key: &PrivateKey,
) -> Result<Vec<Vec<u8>>> {
    let many = vec![Item::from("aaaaaaaaaa"); FUNCTIONS];
    let text = format!("x\n[ERROR] {}", "x".repeat(TEXT_BYTES));
    let job = [
        ("cmd", Item::from("publish")),
        ("fun", Item::List(many)),
        ("arg", Item::List(vec![Item::List(Vec::new()); FUNCTIONS])),
        ("tgt", Item::from(SLOW)),
        ("tgt_type", Item::from("pcre")),
        ("ret", Item::from("")),
        ("jid", Item::from("")),
        ("user", Item::from("root")),
        ("key", Item::from(NO_KEY)),
    ];
    let told = [
        ("cmd", Item::from("runner")),
        ("fun", Item::from(text.as_str())),
        ("kwarg", Item::Map(Vec::new())),
        ("user", Item::from(text.as_str())),
        ("key", Item::from(NO_KEY)),
    ];
    Ok(vec![
        StandIn::clear(Item::map(job)).pack(),
        oddly_packed(known_id, public_pem),
        StandIn::clear(Item::map(told)).pack(),
        question(master_key)?,
    ])
}

/// A sign-in whose envelope says last how it is packed.
fn oddly_packed(known_id: &str, public_pem: &str) -> Vec<u8> {
    let load = Item::map([
        ("pub", Item::from(public_pem)),
        ("nonce", Item::from(hex(&random_bytes::<16>()).as_str())),
        ("enc_algo", Item::from("OAEP-SHA1")),
        ("sig_algo", Item::from("PKCS1v15-SHA1")),
        ("id", Item::from(known_id)),
        ("cmd", Item::from("_auth")),
    ]);
    let envelope = [
        ("load", load),
        ("version", Item::from(3)),
        ("enc", Item::from("clear")),
    ];
    Item::map(envelope).pack()
}

/// A question of another master of the fleet. Who has heard it can only repeat it.
fn question(master_key: &PrivateKey) -> Result<Vec<u8>> {
    let nonce = hex(&random_bytes::<16>());
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let signed = format!("halite.compare\n{nonce}\n{now}");
    let sig = master_key.sign(SigAlgo::Pkcs1v15Sha224, signed.as_bytes())?;
    let load = Item::map([
        ("cmd", Item::from("halite.compare")),
        ("nonce", Item::from(nonce.as_str())),
        ("ts", Item::Int(now.into())),
        ("sig", Item::from(sig.as_slice())),
    ]);
    Ok(StandIn::clear(load).pack())
}

/// A sign of life of a minion as a stranger makes it: nothing proves it.
pub(crate) fn false_sign(known_id: &str, number: u64) -> Vec<u8> {
    let (sign_in, proof) = (1_u64.to_be_bytes(), random_bytes::<32>());
    let count = number.to_be_bytes();
    [
        &b"halite/here/"[..],
        &sign_in[..],
        &count,
        &proof,
        known_id.as_bytes(),
    ]
    .concat()
}

/// An accepted minion that asks for what it may not.
#[derive(Debug)]
pub struct Attacker {
    pub(crate) who: StandIn,
    pub(crate) session: Session,
    /// A job of another minion.
    pub(crate) job: String,
}

impl Attacker {
    /// Its next request: the return of somebody else's job and of one that there is not,
    /// a job of many functions, an event of somebody else's, and a target that takes
    /// long.
    pub(crate) fn request(&self, known_id: &str, number: u64) -> Vec<u8> {
        let data = "x".repeat(RETURN_BYTES);
        let ret = |jid: &str| {
            vec![
                ("cmd", Item::from("_return")),
                ("jid", Item::from(jid)),
                ("fun", Item::from("test.ping")),
                ("fun_args", Item::List(Vec::new())),
                ("return", Item::from(data.as_str())),
                ("retcode", Item::from(0)),
                ("success", Item::from(true)),
            ]
        };
        let load = match number % 5 {
            0 => ret(&self.job),
            1 => ret(&format!("20260101{:012}", number % 1_000_000_000_000)),
            2 => vec![
                ("cmd", Item::from("minion_pub")),
                (
                    "fun",
                    Item::from(vec!["test.ping"; FUNCTIONS].join(",").as_str()),
                ),
                ("arg", Item::List(Vec::new())),
                ("tgt", Item::from("*")),
                ("ret", Item::from("")),
            ],
            3 => vec![
                ("cmd", Item::from("_minion_event")),
                (
                    "tag",
                    Item::from(format!("salt/job/{}/ret/{known_id}", self.job).as_str()),
                ),
                ("data", Item::map([("return", Item::from(data.as_str()))])),
            ],
            _ => vec![
                ("cmd", Item::from("_mine_get")),
                ("tgt", Item::from(SLOW.repeat(50).as_str())),
                ("tgt_type", Item::from("pcre")),
                ("fun", Item::from("test.ping")),
            ],
        };
        self.who.request(&self.session, &load).0.pack()
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
