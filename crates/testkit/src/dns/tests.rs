use super::*;

fn question(name: &str, kind: u16) -> Vec<u8> {
    let mut bytes = vec![7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    bytes.extend(labels(name));
    bytes.extend(kind.to_be_bytes());
    bytes.extend([0, 1]);
    bytes
}

async fn ask(dns: &FakeDns, name: &str, kind: u16) -> Option<Vec<u8>> {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.send_to(&question(name, kind), dns.addr).await.unwrap();
    let mut buffer = vec![0; 4096];
    let answer = tokio::time::timeout(Duration::from_millis(200), socket.recv(&mut buffer)).await;
    answer.ok().map(|length| {
        buffer.truncate(length.unwrap());
        buffer
    })
}

/// Response code and number of answers.
fn summary(answer: &[u8]) -> (u8, u8) {
    assert_eq!(answer[..2], [7, 7], "the id is the question's");
    (answer[3] & 0x0f, answer[7])
}

#[tokio::test]
async fn it_says_what_it_was_told() {
    let dns = FakeDns::start().await;
    dns.set_txt("_dmarc.Example.com", ["v=DMARC1; p=none"]);
    dns.set_mx("example.com", [(10, "mx.example.com")]);
    dns.set_cname("alias.example.com", "_dmarc.example.com");
    dns.set_servfail("broken.example.com");
    dns.set_silent("silent.example.com");

    let answer = ask(&dns, "_DMARC.example.com", TXT).await.unwrap();
    assert_eq!(summary(&answer), (NO_ERROR, 1));
    assert!(answer.ends_with(b"\x10v=DMARC1; p=none"));
    let answer = ask(&dns, "example.com", MX).await.unwrap();
    assert!(answer.ends_with(b"\x00\x0a\x02mx\x07example\x03com\x00"));
    assert_eq!(summary(&ask(&dns, "alias.example.com", TXT).await.unwrap()), (NO_ERROR, 2));
    assert_eq!(summary(&ask(&dns, "example.com", TXT).await.unwrap()), (NO_ERROR, 0));
    assert_eq!(summary(&ask(&dns, "com", TXT).await.unwrap()), (NO_ERROR, 0));
    assert_eq!(summary(&ask(&dns, "other.example.com", TXT).await.unwrap()), (NXDOMAIN, 0));
    assert_eq!(summary(&ask(&dns, "broken.example.com", TXT).await.unwrap()), (SERVFAIL, 0));
    assert_eq!(ask(&dns, "silent.example.com", TXT).await, None);
    assert_eq!(dns.queries_for("silent.example.com"), 1);

    dns.remove("_dmarc.example.com");
    assert_eq!(summary(&ask(&dns, "_dmarc.example.com", TXT).await.unwrap()), (NXDOMAIN, 0));
    dns.set_txt("silent.example.com", ["back"]);
    assert_eq!(summary(&ask(&dns, "silent.example.com", TXT).await.unwrap()), (NO_ERROR, 1));
}

#[tokio::test]
async fn answers_can_be_kept_wrong_and_late() {
    let dns = FakeDns::start().await;
    dns.set_ns("example.com", ["ns1.example.com"]);
    dns.set_aaaa("example.com", [Ipv6Addr::LOCALHOST]);
    assert!(ask(&dns, "example.com", NS).await.unwrap().ends_with(b"\x03ns1\x07example\x03com\x00"));
    dns.set_ttl(600);
    let answer = ask(&dns, "example.com", AAAA).await.unwrap();
    let end = [&[0, 0, 2, 88, 0, 16][..], &[0; 15], &[1]].concat();
    assert!(answer.ends_with(&end), "ten minutes, and the address");
    let answer = ask(&dns, "example.com", MX).await.unwrap();
    assert_eq!((summary(&answer), answer[9]), ((NO_ERROR, 0), 1), "a SOA record");
    assert!(answer.ends_with(&600_u32.to_be_bytes()));

    dns.set_fault(Some(Fault::Referral));
    let answer = ask(&dns, "example.com", NS).await.unwrap();
    assert_eq!((summary(&answer), answer[9]), ((NO_ERROR, 0), 1), "other name servers");
    dns.set_fault(Some(Fault::WrongId));
    assert_ne!(ask(&dns, "example.com", NS).await.unwrap()[..2], [7, 7]);
    dns.set_fault(None);
    dns.set_delay(Duration::from_secs(5));
    assert_eq!(ask(&dns, "example.com", NS).await, None);
    assert_eq!(dns.queries(), 6);
}

#[tokio::test]
async fn a_long_answer_comes_over_tcp() {
    let dns = FakeDns::start().await;
    dns.set_txt("key.example.com", ["k".repeat(700)]);
    let answer = ask(&dns, "key.example.com", TXT).await.unwrap();
    assert_eq!((answer[2] & 2, summary(&answer)), (2, (NO_ERROR, 0)), "truncated");

    let mut stream = TcpStream::connect(dns.addr).await.unwrap();
    let question = question("key.example.com", TXT);
    stream.write_u16(u16::try_from(question.len()).unwrap()).await.unwrap();
    stream.write_all(&question).await.unwrap();
    let mut answer = vec![0; usize::from(stream.read_u16().await.unwrap())];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(summary(&answer), (NO_ERROR, 1));
    let data = [&[255][..], &[b'k'; 255], &[255], &[b'k'; 255], &[190], &[b'k'; 190]].concat();
    assert!(answer.ends_with(&data));
}

#[tokio::test]
async fn what_is_secure_is_proven_to_whoever_asks_for_that() {
    let dns = FakeDns::start().await;
    dns.set_a("mx.example.com", [Ipv4Addr::LOCALHOST]);
    dns.set_tlsa("_25._tcp.mx.example.com", [(3, 1, 1, vec![7; 32])]);
    dns.set_cname("alias.example.com", "mx.example.org");
    dns.set_a("mx.example.org", [Ipv4Addr::LOCALHOST]);
    dns.set_secure("example.com");
    dns.set_insecure("_tcp.mx.example.com");
    let proven = async |name: &str, kind: u16, asks: bool| {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let mut question = question(name, kind);
        question[3] |= if asks { 0x20 } else { 0 };
        socket.send_to(&question, dns.addr).await.unwrap();
        let mut answer = vec![0; 512];
        socket.recv(&mut answer).await.unwrap();
        answer[3] & 0x20 != 0
    };
    assert!(proven("mx.example.com", A, true).await && !proven("mx.example.com", A, false).await);
    assert!(proven("missing.example.com", A, true).await);
    assert!(!proven("_25._tcp.mx.example.com", TLSA, true).await);
    assert!(!proven("alias.example.com", A, true).await, "it leads to a zone that is not signed");
    dns.set_secure("example.org");
    assert!(proven("alias.example.com", A, true).await);
    let answer = ask(&dns, "_25._tcp.mx.example.com", TLSA).await.unwrap();
    assert!(answer.ends_with(&[&[0, 35, 3, 1, 1][..], &[7; 32]].concat()));
}
