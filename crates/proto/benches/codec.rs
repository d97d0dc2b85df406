//! What one message costs: `cargo bench -p halite-proto`.
//!
//! Times are the best of several rounds, which other work on the machine
//! disturbs least.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program for people"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use halite_proto::envelope::RequestEnvelope;
use halite_proto::event::Event;
use halite_proto::msgpack::{pack_wire, unpack_wire};
use halite_proto::publish::PublishLoad;
use halite_proto::request::{MinionRequest, Request, RequestMeta};
use halite_proto::returns::{JobReturn, ReturnJid};
use halite_proto::{Jid, Map, MinionId, Nonce, Tag, Value};

const ROUNDS: u32 = 20;
const ROUND: Duration = Duration::from_millis(20);

fn measure(name: &str, mut once: impl FnMut()) {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let mut times = 0_u32;
        while start.elapsed() < ROUND {
            for _ in 0..100 {
                once();
            }
            times += 100;
        }
        best = best.min(start.elapsed().as_nanos() as f64 / f64::from(times));
    }
    println!("{name:40} {best:>10.0} ns");
}

fn main() {
    let id = MinionId::parse("web1.example.com").unwrap();
    let jid = Jid::parse("20240229123456789012").unwrap();
    let job = JobReturn {
        user: Some("root".to_owned()),
        ..JobReturn::new(
            ReturnJid::Jid(jid.clone()),
            "test.ping".into(),
            Vec::new(),
            true.into(),
            0,
        )
    };
    let meta = RequestMeta::new(
        id.clone(),
        Nonce::from_random([7; 16]),
        1_709_210_096,
        vec![0xfe; 256],
    );
    let request = Request::new(meta, MinionRequest::Return(Box::new(job)));
    let load = request.encode().unwrap();
    let envelope = RequestEnvelope::aes(vec![0xff; 512], id.clone(), "OAEP-SHA1", "PKCS1v15-SHA1");
    let wire = envelope.encode().unwrap();

    measure("envelope: read", || {
        black_box(RequestEnvelope::decode_from(black_box(&wire), 3).unwrap());
    });
    measure("envelope: pack", || {
        black_box(black_box(&envelope).encode().unwrap());
    });
    measure("return: unpack", || {
        black_box(unpack_wire(black_box(&load)).unwrap());
    });
    measure("return: unpack and take apart", || {
        black_box(Request::open(unpack_wire(black_box(&load)).unwrap(), &id).unwrap());
    });
    measure("return: put together and pack", || {
        black_box(black_box(&request).encode().unwrap());
    });
    let event = Event::new(
        Tag::parse("salt/job/x/ret/y").unwrap(),
        request.event_data(),
    );
    measure("return event: pack", || {
        black_box(black_box(&event).pack().unwrap());
    });
    let publish = PublishLoad::new("test.ping".into(), Vec::new(), "*".into(), "glob", jid);
    measure("publication: pack the load", || {
        black_box(black_box(&publish).encode().unwrap());
    });
    let grains: Map = (0..200)
        .map(|n| {
            let lists: Vec<Value> = (0..n % 5).map(Value::from).collect();
            (format!("grain_number_{n}"), Value::List(lists))
        })
        .collect();
    let grains = Value::Map(grains);
    let packed = pack_wire(&grains).unwrap();
    measure("200 grains: unpack", || {
        black_box(unpack_wire(black_box(&packed)).unwrap());
    });
    measure("200 grains: pack", || {
        black_box(pack_wire(black_box(&grains)).unwrap());
    });
}
