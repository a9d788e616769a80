//! One connection, plain or over TLS.
#[cfg(feature = "fault-server-tls")]
use rustls::{ServerConfig, ServerConnection, Stream};
#[cfg(feature = "fault-server-tls")]
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{
    io::{self, Read, Write},
    net::{Shutdown, TcpStream},
    sync::Arc,
    time::Duration,
};

/// A handle on a connection, which closes with its last handle. Nobody writes while somebody reads: a
/// connection whose request is still to be answered is not read.
///
/// TLS ends as it does with a process that dies, without a word of it (`close_notify`).
#[derive(Clone, Debug)]
pub(super) struct Socket {
    tcp: Arc<TcpStream>,
    #[cfg(feature = "fault-server-tls")]
    tls: Option<Arc<Mutex<ServerConnection>>>,
}

/// What makes a connection of a socket that was accepted.
#[derive(Clone, Debug, Default)]
pub(super) struct Acceptor {
    #[cfg(feature = "fault-server-tls")]
    pub(super) tls: Option<Arc<ServerConfig>>,
}

impl Acceptor {
    pub(super) fn accept(&self, tcp: TcpStream) -> io::Result<Socket> {
        tcp.set_nodelay(true)?;
        Ok(Socket {
            tcp: Arc::new(tcp),
            #[cfg(feature = "fault-server-tls")]
            tls: match &self.tls {
                Some(config) => {
                    let session = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
                    Some(Arc::new(Mutex::new(session)))
                }
                None => None,
            },
        })
    }
}

impl Socket {
    /// Closes the connection by a reset, as soon as its last handle is dropped.
    pub(super) fn reset(&self) -> io::Result<()> {
        rustix::net::sockopt::set_socket_linger(&*self.tcp, Some(Duration::ZERO))?;
        Ok(())
    }

    /// Lets the client read the last word, which a reset for what it still says could overtake.
    pub(super) fn part(&self) -> io::Result<()> {
        self.tcp.shutdown(Shutdown::Write)?;
        io::copy(&mut &*self.tcp, &mut io::sink()).map(drop)
    }

    #[cfg(feature = "fault-server-tls")]
    fn session(&self) -> Option<MutexGuard<'_, ServerConnection>> {
        self.tls.as_ref().map(|session| session.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Read for &Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(feature = "fault-server-tls")]
        if let Some(mut session) = self.session() {
            let read = Stream::new(&mut *session, &mut &*self.tcp).read(buffer);
            if read.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::InvalidData) {
                self.part()?;
            }
            return read;
        }
        (&*self.tcp).read(buffer)
    }
}

impl Write for &Socket {
    /// What was written has left when this returns.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(feature = "fault-server-tls")]
        if let Some(mut session) = self.session() {
            let tcp = &mut &*self.tcp;
            let mut stream = Stream::new(&mut *session, tcp);
            let written = stream.write(bytes)?;
            return stream.flush().map(|()| written);
        }
        (&*self.tcp).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
