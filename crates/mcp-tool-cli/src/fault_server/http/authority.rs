//! The certificate authority of a test.
use super::tls::{Certificate, Tls};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::{
    RootCertStore, ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, pem::PemObject},
    server::WebPkiClientVerifier,
};
use std::{fs, io, path::Path, sync::Arc};

/// A configuration with a certificate that was issued just now.
pub(super) fn issue(tls: &Tls) -> io::Result<ServerConfig> {
    let issuer = authority(tls.authority())?;
    let (certificate, subject) = tls.shown();
    let hosts = match certificate {
        Certificate::OfAnotherHost => vec!["elsewhere.invalid".to_owned()],
        Certificate::Good | Certificate::Expired => vec!["127.0.0.1".to_owned(), "localhost".to_owned()],
    };
    let mut params = CertificateParams::new(hosts).map_err(io::Error::other)?;
    params.distinguished_name.push(DnType::CommonName, subject);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    if certificate == Certificate::Expired {
        (params.not_before, params.not_after) = (date_time_ymd(2001, 1, 1), date_time_ymd(2002, 1, 1));
    }
    let (issued, key) = sign(params, &issuer)?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let config = match tls.client() {
        None => config.with_no_client_auth(),
        Some(file) => {
            let mut params = CertificateParams::default();
            params.distinguished_name.push(DnType::CommonName, "client");
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            let (client, key) = sign(params, &issuer)?;
            fs::write(file, client.pem() + &key.serialize_pem())?;
            let mut roots = RootCertStore::empty();
            for authority in CertificateDer::pem_file_iter(tls.authority()).map_err(io::Error::other)? {
                roots.add(authority.map_err(io::Error::other)?).map_err(io::Error::other)?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            config.with_client_cert_verifier(verifier.map_err(io::Error::other)?)
        }
    };
    config.with_single_cert(vec![issued.der().clone()], key).map_err(io::Error::other)
}

fn sign(
    mut params: CertificateParams,
    issuer: &Issuer<'_, KeyPair>,
) -> io::Result<(rcgen::Certificate, KeyPair)> {
    params.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate().map_err(io::Error::other)?;
    let signed = params.signed_by(&key, issuer).map_err(io::Error::other)?;
    Ok((signed, key))
}

/// The authority in this file, made if there is none.
fn authority(file: &Path) -> io::Result<Issuer<'static, KeyPair>> {
    let key_file = file.with_extension("key");
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "test authority of the fault server");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = match fs::read_to_string(&key_file) {
        Ok(pem) => KeyPair::from_pem(&pem).map_err(io::Error::other)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let key = KeyPair::generate().map_err(io::Error::other)?;
            let certificate = params.self_signed(&key).map_err(io::Error::other)?;
            fs::write(file, certificate.pem())?;
            fs::write(key_file, key.serialize_pem())?;
            key
        }
        Err(error) => return Err(error),
    };
    Ok(Issuer::new(params, key))
}
