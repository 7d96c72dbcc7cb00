//! The token of a call: every command that calls a server has these options.
use clap::builder::NonEmptyStringValueParser;

/// The environment variable with a token.
const VARIABLE: &str = "OMR_TOKEN";

#[derive(clap::Args, Clone, Default)]
pub(crate) struct TokenArg {
    /// Token of the server's operator [default: $OMR_TOKEN, or that of the identity, if it has one]
    #[arg(long = "token", value_name = "T", value_parser = NonEmptyStringValueParser::new())]
    argument: Option<String>,
    /// File with the token, which other programs of the machine then do not see among the arguments
    #[arg(long = "token-file", value_name = "FILE", value_parser = of_file, conflicts_with = "argument")]
    file: Option<String>,
}

/// Reads a token from a file.
fn of_file(path: &str) -> Result<String, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    match text.trim() {
        "" => Err("expected a token in the file, found nothing".to_owned()),
        token => Ok(token.to_owned()),
    }
}

/// The source of a token: one on the command line was meant for this call, one in the environment may not be.
pub(crate) enum Token {
    Argument(String),
    Environment(String),
}

impl TokenArg {
    /// Returns the token of this call, if it has one of its own.
    pub(crate) fn of_call(&self) -> Option<Token> {
        let variable = || std::env::var(VARIABLE).ok().filter(|text| !text.is_empty());
        let given = self
            .argument
            .clone()
            .or_else(|| self.file.clone())
            .map(Token::Argument);
        given.or_else(|| variable().map(Token::Environment))
    }

    /// Returns the text of that token.
    pub(crate) fn text(&self) -> Option<String> {
        self.of_call().map(|token| match token {
            Token::Argument(text) | Token::Environment(text) => text,
        })
    }
}
