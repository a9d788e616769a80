//! Reaches the simulated server: one life of it per connect.

use std::{io, sync::Arc};

use async_trait::async_trait;
use mcp_tool::{
    Connector, StdioTransport, Transport, TransportError,
    mcp_transport::{
        ServerIdentity,
        rmcp::{
            model::{ClientConfig, ProtocolVersion},
            service::ClientLifecycleMode,
        },
    },
};
use tokio::io::duplex;

use crate::{
    life::{Connect, Era},
    pipe::{Answers, Requests},
    schedule::Schedule,
    server::Server,
    world::{Event, Harm, World},
};

/// More than is ever under way: a full pipe is a fault of its own.
const ROOM: usize = 64 * 1024;

pub(crate) struct Simulated {
    pub(crate) world: World,
    pub(crate) schedule: Arc<Schedule>,
}

/// One connect. However its future ends, its end is told.
struct Connecting<'a> {
    world: &'a World,
    told: Event,
}

impl Drop for Connecting<'_> {
    fn drop(&mut self) {
        self.world.connected(self.told);
    }
}

impl Simulated {
    fn moves(&self) -> usize {
        let now = self.world.now();
        self.schedule.moves.iter().filter(|at| **at <= now).count()
    }
}

#[async_trait]
impl Connector for Simulated {
    async fn connect(&self) -> Result<Arc<dyn Transport>, TransportError> {
        let number = self.world.connecting(self.moves());
        let mut connecting = Connecting { world: &self.world, told: Event::NotConnected { life: number } };
        // The real pauses between the tries are random, so those of a play are a millisecond; this stands
        // in for them.
        let life = self.schedule.life(number);
        self.world.at(self.world.moment(if number == 0 { 1 } else { 90 })).await;
        let hurt = |by| self.world.tell(Event::Hurt { life: number, by: Harm::Connect(by) });
        match life.connect {
            Connect::Refused => {
                hurt(life.connect);
                return Err(TransportError::connect(io::Error::from(io::ErrorKind::ConnectionRefused)));
            }
            Connect::Slow => {
                hurt(life.connect);
                self.world.at(self.world.moment(20_000)).await;
                return Err(TransportError::connect_timeout());
            }
            _ => {}
        }
        let (writer, requests) = duplex(ROOM);
        let (out, reader) = duplex(ROOM);
        let lifecycle = match life.era {
            Era::Legacy => ClientLifecycleMode::Initialize,
            Era::Modern => {
                ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
            }
        };
        let requests_in = Requests {
            stream: writer,
            world: self.world.clone(),
            life: number,
            write: life.write,
            accepted: 0,
            fault: life.requests,
            told: false,
            pause: None,
        };
        let (left, fault) = life.answers.map_or((0, None), |(left, fault)| (left, Some(fault)));
        let answers =
            Answers { stream: reader, world: self.world.clone(), life: number, left, fault, told: false };
        tokio::spawn(Server::new(self.world.clone(), number, life, requests, out).serve());
        let transport =
            StdioTransport::over(answers, requests_in, ClientConfig::default(), lifecycle).await?;
        connecting.told = Event::Connected { life: number };
        Ok(Arc::new(transport))
    }

    fn identity(&self) -> ServerIdentity {
        ServerIdentity::of([("moves", self.moves().to_string().as_str())])
    }
}
