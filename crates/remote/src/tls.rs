//! Words for what keeps a connection by TLS from coming about.

/// How rustls begins what is wrong with a server's certificate.
const CERTIFICATE: &str = "invalid peer certificate: ";

/// Makes a certificate that servers and clients take.
const RECIPE: &str = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 -subj /CN=omr \
                      -addext subjectAltName=DNS:NAME -addext basicConstraints=critical,CA:FALSE -keyout tls.key \
                      -out tls.crt";

/// Returns the fault and its remedy if the text of a connection's innermost error is one of TLS.
pub(crate) fn fault(text: &str) -> Option<String> {
    if text.contains("InvalidContentType") {
        return Some("the server does not speak TLS at this address: is it http://?".to_owned());
    }
    // So a server of TLS answers plain HTTP/2, and any other program that is asked for it.
    if text.contains("frame with invalid size") {
        return Some(
            "no server of omr, or one with TLS, answers at this address: is it https://?"
                .to_owned(),
        );
    }
    if let Some(alert) = text.strip_prefix("received fatal alert: ") {
        return Some(format!("the server broke off TLS: {alert}"));
    }
    let found = text.strip_prefix(CERTIFICATE)?;
    let advice = if found.contains("CaUsedAsEndEntity") {
        format!(
            "it is the certificate of an authority (CA:TRUE), expected one of a server; this makes one for the server \
             NAME: {RECIPE}"
        )
    } else if found.starts_with("UnknownIssuer") || found.starts_with("BadSignature") {
        "it is of an authority that is not known here: give the authority's certificate, or the server's own if it is \
         self-signed, with --ca"
            .to_owned()
    } else if found.starts_with("certificate not valid for name") {
        "it is for other names than that of the URL: call the server by one of its names, or make a certificate for this \
         one (subjectAltName)"
            .to_owned()
    } else if found.contains("expired") || found.contains("not valid yet") {
        "its time is over, or has not come: renew it at the server, or set this machine's clock"
            .to_owned()
    } else {
        "ask the server's operator for one that clients take".to_owned()
    };
    Some(format!(
        "the server's certificate is refused ({found}): {advice}"
    ))
}
