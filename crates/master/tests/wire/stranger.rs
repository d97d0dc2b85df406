//! A caller without credentials, with a plain socket: as many requests on one
//! connection as it likes, from any address of this machine.

use std::net::{IpAddr, SocketAddr};

use halite_transport::Endpoint;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// A connection that has shaken hands.
pub(crate) struct Stranger(TcpStream);

fn address(endpoint: &Endpoint) -> SocketAddr {
    let text = endpoint.to_string();
    text.strip_prefix("tcp://").unwrap().parse().unwrap()
}

/// A request as it travels on a connection that does not wait for answers.
fn framed(payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![1, 0, 2];
    bytes.extend((payload.len() as u64).to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

impl Stranger {
    /// Connects from an address of the loopback network as a socket of a kind.
    pub(crate) async fn connect(endpoint: &Endpoint, from: [u8; 4], kind: &str) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((IpAddr::from(from), 0).into()).unwrap();
        let mut stream = socket.connect(address(endpoint)).await.unwrap();
        let mut hello = vec![0; 64];
        (hello[0], hello[9], hello[10]) = (0xff, 0x7f, 3);
        hello[12..16].copy_from_slice(b"NULL");
        let mut ready = Vec::from(*b"\x05READY\x0bSocket-Type\0\0\0");
        ready.push(u8::try_from(kind.len()).unwrap());
        ready.extend_from_slice(kind.as_bytes());
        hello.extend([4, u8::try_from(ready.len()).unwrap()]);
        hello.extend_from_slice(&ready);
        stream.write_all(&hello).await.unwrap();
        let mut answer = [0; 66];
        stream.read_exact(&mut answer).await.unwrap();
        let mut ready = vec![0; usize::from(answer[65])];
        stream.read_exact(&mut ready).await.unwrap();
        Self(stream)
    }

    /// Sends requests without waiting for answers.
    pub(crate) async fn send_all(&mut self, payloads: &[Vec<u8>]) {
        let bytes: Vec<u8> = payloads
            .iter()
            .flat_map(|payload| framed(payload))
            .collect();
        self.0.write_all(&bytes).await.unwrap();
    }

    /// Says something as a subscriber.
    pub(crate) async fn say(&mut self, frame: &[u8]) {
        let mut bytes = vec![0, u8::try_from(frame.len()).unwrap()];
        bytes.extend_from_slice(frame);
        self.0.write_all(&bytes).await.unwrap();
    }

    /// The next answer.
    pub(crate) async fn answer(&mut self) -> Vec<u8> {
        read_answer(&mut self.0).await
    }

    /// Sends requests, reads answers meanwhile, and gives the first one of a kind.
    pub(crate) async fn answer_among(
        &mut self,
        payloads: &[Vec<u8>],
        is_it: impl Fn(&[u8]) -> bool,
    ) -> Vec<u8> {
        let bytes: Vec<u8> = payloads.iter().flat_map(|one| framed(one)).collect();
        let (mut reader, mut writer) = self.0.split();
        let write = async {
            writer.write_all(&bytes).await.unwrap();
            std::future::pending::<()>().await;
        };
        let read = async {
            loop {
                let answer = read_answer(&mut reader).await;
                if is_it(&answer) {
                    return answer;
                }
            }
        };
        tokio::select! {
            () = write => Vec::new(),
            answer = read => answer,
        }
    }

    /// The next frame of one part, as a subscriber.
    pub(crate) async fn frame(&mut self) -> Vec<u8> {
        let flags = self.0.read_u8().await.unwrap();
        read_frame(&mut self.0, flags).await
    }

    /// How many bytes have arrived that nobody has read.
    pub(crate) fn unread(&mut self) -> usize {
        let mut bytes = vec![0; 16 << 20];
        let mut count = 0;
        while let Ok(read @ 1..) = self.0.try_read(&mut bytes) {
            count += read;
        }
        count
    }
}

async fn read_answer(stream: &mut (impl AsyncRead + Unpin)) -> Vec<u8> {
    let mut delimiter = [0; 3];
    stream.read_exact(&mut delimiter).await.unwrap();
    assert_eq!(delimiter[..2], [1, 0]);
    read_frame(stream, delimiter[2]).await
}

async fn read_frame(stream: &mut (impl AsyncRead + Unpin), flags: u8) -> Vec<u8> {
    let bytes = match flags {
        2 => stream.read_u64().await.unwrap(),
        _ => u64::from(stream.read_u8().await.unwrap()),
    };
    let mut frame = vec![0; usize::try_from(bytes).unwrap()];
    stream.read_exact(&mut frame).await.unwrap();
    frame
}
