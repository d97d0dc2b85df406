//! The end of a process: alone here, since it ends the process-wide context.

#![allow(clippy::unwrap_used, reason = "a test ends there")]

use std::time::Duration;

use halite_transport::Endpoint;
use halite_transport::fleet::{
    LocalPublishSocket, PublishPort, RequestPort, Requester, SubscribeOptions, Subscriber,
    terminate,
};

#[tokio::test]
async fn everything_is_closed_within_a_second_and_can_start_again() {
    let dir = tempfile::tempdir().unwrap();
    for _ in 0..3 {
        // Where no other test gets a port that is free again.
        let any = [Endpoint::tcp("127.0.7.3", 0)];
        let file = [Endpoint::ipc(dir.path().join("publish_pull.ipc"))];
        let puller = LocalPublishSocket::bind(&file, Default::default()).unwrap();
        let publisher = PublishPort::bind(&any, Default::default()).unwrap();
        let mut router = RequestPort::bind(&any, Default::default()).unwrap();
        let port = router.endpoints()[0].port().unwrap();
        let subscriber = Subscriber::connect(
            publisher.endpoints()[0].clone(),
            SubscribeOptions::default(),
        );
        let requester = Requester::connect(router.endpoints()[0].clone(), Default::default());
        let asking = tokio::spawn(async move {
            let asked = requester.request(b"x".to_vec(), Duration::from_secs(20));
            assert_eq!(asked.await.unwrap(), b"y");
        });
        let incoming = router.recv().await.unwrap();
        let replies = router.replies();
        replies.send(incoming.peer, b"y".to_vec()).unwrap();
        asking.await.unwrap();

        drop((puller, publisher, router, subscriber));
        assert!(terminate(Duration::from_secs(30)).await);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        std::net::TcpListener::bind(("127.0.7.3", port)).unwrap();
    }
}
