//! An anchor: point selects with tokio-postgres, as a Rust program would write them. Built and run by
//! ../tokio-postgres.js:
//!
//!   bench-tokio-postgres URL CA TEXT ROWS CONNECTIONS CALLERS WARMUP_MS MEASURE_MS
//!
//! CA is a file in PEM, or empty without TLS. The runtime has one thread. A client pipelines what its callers send;
//! with several connections the callers take turns among the clients. Answers are checked as the JavaScript workloads
//! check them. The result goes to stdout, as JSON.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::CertificateDer;
use tokio_postgres::{Client, NoTls, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

type Failure = Box<dyn Error + Send + Sync>;

struct Member {
    client: Client,
    statement: Statement,
}

/// The query takes `rows` for the largest id.
struct Load {
    members: Vec<Member>,
    callers: usize,
    rows: u32,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let run = || -> Result<(), Failure> { runtime?.block_on(measure(&arguments)) };
    if let Err(error) = run() {
        let cause = error.source().map(|source| format!(": {source}"));
        eprintln!("{error}{}", cause.unwrap_or_default());
        std::process::exit(1);
    }
}

async fn measure(arguments: &[String]) -> Result<(), Failure> {
    let [url, ca, text, rows, connections, callers, warmup, measured] = arguments else {
        return Err("See the opening lines of main.rs".into());
    };
    let mut members = Vec::new();
    for _ in 0..connections.parse()? {
        let client = connect(url, ca).await?;
        let statement = client.prepare(text).await?;
        members.push(Member { client, statement });
    }
    let load = Arc::new(Load {
        members,
        callers: callers.parse()?,
        rows: rows.parse()?,
    });

    run(&load, Duration::from_millis(warmup.parse()?)).await?;
    let cpu = cpu_micros();
    let began_at = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64() * 1000.0;
    let start = Instant::now();
    let operations = run(&load, Duration::from_millis(measured.parse()?)).await?;
    let seconds = start.elapsed().as_secs_f64();
    let micros = cpu_micros() - cpu;
    println!(
        "{{\"operations\": {operations}, \"seconds\": {seconds:.6}, \"cpuMicros\": {micros}, \
         \"beganAt\": {began_at:.3}}}"
    );
    Ok(())
}

async fn connect(url: &str, ca: &str) -> Result<Client, Failure> {
    let mut config: tokio_postgres::Config = url.parse()?;
    if let Ok(password) = std::env::var("PGPASSWORD") {
        config.password(password);
    }
    if ca.is_empty() {
        let (client, connection) = config.connect(NoTls).await?;
        tokio::spawn(connection);
        return Ok(client);
    }
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(ca)? {
        roots.add(certificate?)?;
    }
    let tls = rustls::ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.ssl_mode(tokio_postgres::config::SslMode::Require);
    let (client, connection) = config.connect(MakeRustlsConnect::new(tls)).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// Each caller starts its next query when its last one is answered.
async fn run(load: &Arc<Load>, time: Duration) -> Result<u64, Failure> {
    let deadline = Instant::now() + time;
    let callers: Vec<_> = (0..load.callers)
        .map(|caller| tokio::spawn(call(load.clone(), caller, deadline)))
        .collect();
    let mut operations = 0;
    for caller in callers {
        operations += caller.await??;
    }
    Ok(operations)
}

async fn call(load: Arc<Load>, caller: usize, deadline: Instant) -> Result<u64, Failure> {
    let Member { client, statement } = &load.members[caller % load.members.len()];
    let mut state = 20_240_101 + caller as u32;
    let mut operations = 0;
    loop {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        let id = (1 + state % load.rows) as i32;
        let rows = client.query(statement, &[&id]).await?;
        let [row] = rows.as_slice() else {
            return Err(format!("{} rows of id {id}", rows.len()).into());
        };
        let (found, n): (i32, i32) = (row.try_get(0)?, row.try_get(1)?);
        if found != id || n != id * 7 + 1 {
            return Err(format!("Asked for row {id} and got {found}, {n}").into());
        }
        operations += 1;
        if Instant::now() >= deadline {
            return Ok(operations);
        }
    }
}

/// User and system, of all threads.
fn cpu_micros() -> i64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: getrusage() fills the whole struct, and cannot fail for the process itself.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let micros = |time: libc::timeval| time.tv_sec as i64 * 1_000_000 + time.tv_usec as i64;
    micros(usage.ru_utime) + micros(usage.ru_stime)
}
