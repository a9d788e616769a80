use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use async_trait::async_trait;
use http::{HeaderName, HeaderValue};
use reqwest::Url;
use rmcp::{
    ClientHandler,
    model::ClientConfig,
    service::ClientLifecycleMode,
    transport::streamable_http_client::{StreamableHttpClient, StreamableHttpClientTransportConfig},
};

use super::{
    client::{HttpClient, TokenSource},
    connection::{HttpTransport, Session},
    response::send_error,
    tls,
};
use crate::{
    Connector, ServerIdentity, Transport, TransportError,
    handshake::{default_client, default_lifecycle},
    request::{Asked, DEFAULT_MAX_UNANSWERED, Requests},
};

/// Reaches a server over Streamable HTTP.
///
/// ```no_run
/// use mcp_transport::{Connector, HttpConnector};
///
/// # async fn f() -> Result<(), Box<dyn std::error::Error>> {
/// let server = HttpConnector::new("http://127.0.0.1:8080/mcp")?;
/// let connection = server.connect().await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct HttpConnector<H = ClientConfig> {
    url: Url,
    /// The host's, or one of our own, made when it is needed: that may read all authorities of the system.
    http: Arc<OnceLock<reqwest::Client>>,
    headers: HashMap<HeaderName, HeaderValue>,
    tokens: Option<Arc<dyn TokenSource>>,
    handler: H,
    lifecycle: ClientLifecycleMode,
    connect_timeout: Duration,
    list_timeout: Duration,
    max_reply: usize,
    max_resumes: u32,
    max_unanswered: usize,
}

/// Why no server can be reached at a URL. It holds nothing of the text.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUrl {
    /// It is none of a server.
    #[error("not a URL of the form http://host/path or https://host/path")]
    Malformed,
    /// It is `https://…`, and this build has no TLS: neither a feature of this crate nor one that the host
    /// has turned on in reqwest brings it.
    #[error("https needs TLS: turn on the feature http-rustls or http-native-tls")]
    NoTls,
}

impl HttpConnector {
    /// A server at this URL, with a client of our own that is made at the first connect: no redirects, no
    /// retries, no idle connections, the system's certificate authorities, and the proxies that the
    /// environment names.
    ///
    /// # Errors
    ///
    /// [`InvalidUrl`].
    pub fn new(url: &str) -> Result<Self, InvalidUrl> {
        let url = Url::parse(url).map_err(|_| InvalidUrl::Malformed)?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(InvalidUrl::Malformed);
        }
        if url.scheme() == "https" && !tls::is_there() {
            return Err(InvalidUrl::NoTls);
        }
        Ok(Self {
            url,
            http: Arc::default(),
            headers: HashMap::new(),
            tokens: None,
            handler: default_client(),
            lifecycle: default_lifecycle(),
            connect_timeout: Duration::from_secs(60),
            list_timeout: Duration::from_secs(30),
            max_reply: 16 * 1024 * 1024,
            max_resumes: 5,
            max_unanswered: DEFAULT_MAX_UNANSWERED,
        })
    }
}

/// Applied last, whatever the host has set: each of these could post a request twice, or make it
/// unknown whether a request was sent.
pub(super) fn guarded(builder: reqwest::ClientBuilder) -> reqwest::Result<reqwest::Client> {
    builder
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .pool_max_idle_per_host(0)
        .build()
}

impl<H> HttpConnector<H> {
    /// The host's own client: its proxy, certificate authorities, client certificate, time-outs.
    /// Redirects, retries and idle connections are switched off in it.
    ///
    /// A proxy weakens proof for `http` URLs: it is given the whole request, so that only one that cannot
    /// be reached proves a call unsent, and one that fails later leaves it in doubt. For `https` URLs it
    /// makes a tunnel first, and a tunnel that did not come about is proof.
    ///
    /// # Errors
    ///
    /// When the client cannot be built from these settings.
    pub fn with_client(mut self, builder: reqwest::ClientBuilder) -> Result<Self, TransportError> {
        self.http = Arc::new(OnceLock::from(guarded(builder).map_err(send_error)?));
        Ok(self)
    }

    /// Adds a header to every request. Its value is not part of the server's identity and is printed
    /// nowhere.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, mut value: HeaderValue) -> Self {
        value.set_sensitive(true);
        self.headers.insert(name, value);
        self
    }

    /// Where the bearer token of each request comes from. Default: none is sent. A name and a password in
    /// the URL are sent with the requests for which there is no token.
    #[must_use]
    pub fn with_tokens(mut self, tokens: impl TokenSource + 'static) -> Self {
        self.tokens = Some(Arc::new(tokens));
        self
    }

    /// The host's own handler of what the server asks and tells, and its client information. Default:
    /// none but this crate's name and version. Each connection gets a clone.
    #[must_use]
    pub fn with_handler<H2: ClientHandler + Clone>(self, handler: H2) -> HttpConnector<H2> {
        HttpConnector {
            url: self.url,
            http: self.http,
            headers: self.headers,
            tokens: self.tokens,
            handler,
            lifecycle: self.lifecycle,
            connect_timeout: self.connect_timeout,
            list_timeout: self.list_timeout,
            max_reply: self.max_reply,
            max_resumes: self.max_resumes,
            max_unanswered: self.max_unanswered,
        }
    }

    /// Which handshake to use. Default: automatic, `server/discover` (2026-07-28) first, then
    /// `initialize` (2025-11-25 and older).
    #[must_use]
    pub fn with_lifecycle(mut self, lifecycle: ClientLifecycleMode) -> Self {
        self.lifecycle = lifecycle;
        self
    }

    /// How long the handshake may take. Default: 60 s.
    #[must_use]
    pub fn with_connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// How long one page of the tools may take. Default: 30 s.
    #[must_use]
    pub fn with_list_timeout(mut self, timeout: Duration) -> Self {
        self.list_timeout = timeout;
        self
    }

    /// The largest body or event that is taken, in bytes. A larger answer fails its call. Default: 16 MiB.
    #[must_use]
    pub fn with_max_reply(mut self, bytes: usize) -> Self {
        self.max_reply = bytes;
        self
    }

    /// How often one answer's event stream may be resumed (Last-Event-ID), in total. Default: 5.
    #[must_use]
    pub fn with_max_resumes(mut self, resumes: u32) -> Self {
        self.max_resumes = resumes;
        self
    }

    /// How many requests of the server's own (a ping, a question to the user) may be without an answer at a
    /// time; their text together has the bound of a reply. A stream that brings more is read no further
    /// before some are answered. Default: 256.
    #[must_use]
    pub fn with_max_unanswered(mut self, requests: usize) -> Self {
        self.max_unanswered = requests;
        self
    }

    fn http(&self) -> Result<reqwest::Client, TransportError> {
        if let Some(http) = self.http.get() {
            return Ok(http.clone());
        }
        let made = match guarded(reqwest::Client::builder()) {
            // A machine without authorities (a bare container) can still reach what needs none.
            #[cfg(any(feature = "http-rustls", feature = "http-native-tls"))]
            Err(_) if self.url.scheme() == "http" => guarded(reqwest::Client::builder().tls_certs_only([])),
            made => made,
        };
        let made = made.map_err(send_error)?;
        Ok(self.http.get_or_init(|| made).clone())
    }

    fn config(&self) -> StreamableHttpClientTransportConfig {
        let mut config = StreamableHttpClientTransportConfig::with_uri(self.url.as_str());
        config.custom_headers = self.headers.clone();
        config.max_json_response_size = self.max_reply;
        config.max_sse_event_size = self.max_reply;
        config.max_concurrent_requests = usize::MAX >> 4;
        // Below any gate it would post the call again, and answer the others with an invented error.
        config.reinit_on_expired_session = false;
        config
    }
}

impl<H: ClientHandler + Clone> HttpConnector<H> {
    /// Completes the handshake.
    ///
    /// # Errors
    ///
    /// Whatever kept it from completing: no call was handed over yet.
    pub async fn start(&self) -> Result<HttpTransport, TransportError> {
        self.start_with(|client| client).await
    }

    /// The same through a layer above our client, such as rmcp's `AuthClient`. What the layer posts
    /// again is refused. A call returns when the layer has passed on what came for it.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub async fn start_with<C>(
        &self,
        layer: impl FnOnce(HttpClient) -> C + Send,
    ) -> Result<HttpTransport, TransportError>
    where
        C: StreamableHttpClient + Sync,
    {
        let requests = Arc::new(Requests::new(Asked::new(self.max_unanswered, self.max_reply)));
        let (http, tokens) = (self.http()?, self.tokens.clone());
        let client = HttpClient::new(http, requests.clone(), tokens, self.max_reply, self.max_resumes);
        let session = Session {
            client: layer(client),
            requests,
            config: self.config(),
            connect_timeout: self.connect_timeout,
            list_timeout: self.list_timeout,
        };
        HttpTransport::establish(session, self.handler.clone(), self.lifecycle.clone()).await
    }
}

#[async_trait]
impl<H: ClientHandler + Clone> Connector for HttpConnector<H> {
    async fn connect(&self) -> Result<Arc<dyn Transport>, TransportError> {
        Ok(Arc::new(self.start().await?))
    }

    /// The URL, and the names of the headers.
    fn identity(&self) -> ServerIdentity {
        let mut names: Vec<_> = self.headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        let headers = names.into_iter().map(|name| ("header", name));
        ServerIdentity::of(std::iter::once(("url", self.url.as_str())).chain(headers))
    }
}

impl<H> fmt::Debug for HttpConnector<H> {
    /// Neither the URL nor the headers are shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpConnector").field("max_reply", &self.max_reply).finish_non_exhaustive()
    }
}
