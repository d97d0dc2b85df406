//! A bus between masters, with a cable from each of them.

use std::net::SocketAddr;

use anyhow::Result;
use halite_integration_tests::Master;
use halite_integration_tests::proxy::Proxy;
use halite_test_services::{Nats, Wanted};

/// Where the cable of a master to the bus begins, at its own address.
const BUS_FROM: u16 = 4534;

/// What carries what masters tell each other, and the cable to it from each of them.
pub(crate) struct CabledBus {
    pub(crate) cables: Vec<Proxy>,
    pub(crate) nats: Nats,
}

impl CabledBus {
    /// Starts it; `None`, and reported, where there is no NATS server.
    pub(crate) fn start(masters: &[Master]) -> Result<Option<Self>> {
        let Some(nats) = Nats::for_test(&Wanted::default()) else {
            return Ok(None);
        };
        let cables = masters.iter().map(|of| {
            Proxy::from(
                SocketAddr::from((of.address().ip(), BUS_FROM)),
                nats.address,
            )
        });
        let cables = cables.collect::<Result<_>>()?;
        Ok(Some(Self { cables, nats }))
    }
}
