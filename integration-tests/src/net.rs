//! Loopback addresses of their own for the daemons, so that any number of
//! fleets can use the well-known ports at the same time.
//!
//! Invariant: an address is held by a listening socket for as long as its
//! [`Address`] lives, so no other test process takes it.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result};

/// The port whose socket marks an address as taken.
const CLAIM_PORT: u16 = 4999;

/// Addresses are taken from 127.64.0.0/10, which nothing else uses.
const BASE: u32 = 0x7f40_0000;
const RANGE: u32 = 0x003f_ffff;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// Ports of 127.0.0.1 are claimed at this address, under the same numbers.
const CLAIM_IP: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 99);

/// Below those that the kernel gives to connections and to port 0.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// Ports of 127.0.0.1 that nobody else uses, for programs that take no other
/// address.
#[derive(Debug)]
pub struct Ports<const N: usize> {
    /// The ports.
    pub numbers: [u16; N],
    _claims: Vec<TcpListener>,
}

impl<const N: usize> Ports<N> {
    /// Takes ports that no other test uses.
    pub fn claim() -> Result<Self> {
        let (mut numbers, mut claims) = ([0; N], Vec::new());
        let offset = usize::try_from(std::process::id())?.wrapping_mul(97) % PORTS.len();
        let mut candidates = PORTS.cycle().skip(offset).take(PORTS.len());
        for number in &mut numbers {
            let (port, claim) = candidates
                .by_ref()
                .filter(|port| is_free(Ipv4Addr::LOCALHOST, *port))
                .find_map(|port| Some((port, TcpListener::bind((CLAIM_IP, port)).ok()?)))
                .context("not so many ports of 127.0.0.1 are free")?;
            *number = port;
            claims.push(claim);
        }
        Ok(Self {
            numbers,
            _claims: claims,
        })
    }
}

/// An address in 127.0.0.0/8 with two free ports.
#[derive(Debug)]
pub struct Address {
    ip: Ipv4Addr,
    publish_port: u16,
    request_port: u16,
    _claim: TcpListener,
}

impl Address {
    /// Takes an address that no other test uses.
    pub fn claim() -> Result<Self> {
        // Far apart for different processes, next to each other within one.
        let start = std::process::id().wrapping_mul(257);
        for _ in 0..1000 {
            let number = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) & RANGE;
            let ip = Ipv4Addr::from_bits(BASE | number.clamp(1, RANGE - 1));
            let Ok(claim) = TcpListener::bind((ip, CLAIM_PORT)) else {
                continue;
            };
            for publish_port in (4505..4900).step_by(10) {
                if is_free(ip, publish_port) && is_free(ip, publish_port + 1) {
                    return Ok(Self {
                        ip,
                        publish_port,
                        request_port: publish_port + 1,
                        _claim: claim,
                    });
                }
            }
        }
        None.context("no address in 127.64.0.0/10 is free")
    }

    /// The address.
    pub fn ip(&self) -> Ipv4Addr {
        self.ip
    }

    /// Where publications go out.
    pub fn publish(&self) -> SocketAddr {
        SocketAddr::V4(SocketAddrV4::new(self.ip, self.publish_port))
    }

    /// Where requests come in.
    pub fn request(&self) -> SocketAddr {
        SocketAddr::V4(SocketAddrV4::new(self.ip, self.request_port))
    }
}

fn is_free(ip: Ipv4Addr, port: u16) -> bool {
    TcpListener::bind((ip, port)).is_ok()
}
