//! Tokens, counted before anything recursive is made of them.

use omr_errors::Mismatch;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, Tokenizer};

use super::super::error::cut_message;
use super::super::{MAX_DEPTH, QueryError};
use super::DIALECT;

const MAX_BYTES: usize = 64 << 10;

/// Every level of a syntax tree takes one of these at least, chains of operators too, which the parser's own limit lets pass.
/// [`MAX_LEAVES`](crate::MAX_LEAVES) conditions take less than 12 each.
const MAX_WORDS: usize = 768;

/// The tokens of a query, without its whitespace and comments.
///
/// Errors: a text or a tree too large, characters that belong to no query.
pub(super) fn tokens(sql: &str) -> Result<Vec<Token>, QueryError> {
    if sql.len() > MAX_BYTES {
        return Err(QueryError::TooLong(Mismatch::new(MAX_BYTES, sql.len())));
    }
    let mut tokens = Tokenizer::new(&DIALECT, sql)
        .tokenize()
        .map_err(|error| QueryError::Syntax(cut_message(&error.to_string())))?;
    tokens.retain(|token| !matches!(token, Token::Whitespace(_)));
    tokens.iter().try_for_each(known)?;
    count_words(&tokens)?;
    count_depth(&tokens)?;
    Ok(tokens)
}

/// Returns whether a text compares something with NULL by `=`, `<>`, `!=`, `<`, `<=`, `>` or `>=`, which holds for no
/// row. A text that is no query does not.
pub fn compares_null(sql: &str) -> bool {
    let tokens = tokens(sql).unwrap_or_default();
    tokens
        .windows(2)
        .any(|pair| is_comparison(&pair[0]) && is_null(&pair[1]))
}

fn is_comparison(token: &Token) -> bool {
    use Token::{Eq, Gt, GtEq, Lt, LtEq, Neq};
    matches!(token, Eq | Neq | Lt | LtEq | Gt | GtEq)
}

fn is_null(token: &Token) -> bool {
    matches!(token, Token::Word(word) if word.keyword == Keyword::NULL && word.quote_style.is_none())
}

/// A list's constants are siblings: neither they nor the word or sign before one make a tree deeper.
fn count_words(tokens: &[Token]) -> Result<(), QueryError> {
    let mut words = 0;
    let mut first_of_item = true;
    for token in tokens {
        let opens = matches!(token, Token::Comma | Token::LParen);
        let constant = matches!(token, Token::Number(..) | Token::SingleQuotedString(_));
        words += usize::from(!first_of_item && !constant && *token != Token::Comma);
        first_of_item = opens;
    }
    if words > MAX_WORDS {
        return Err(QueryError::TooManyWords(MAX_WORDS));
    }
    Ok(())
}

fn count_depth(tokens: &[Token]) -> Result<(), QueryError> {
    let mut depth = 0_usize;
    for token in tokens {
        match token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(QueryError::TooDeep(MAX_DEPTH));
        }
    }
    Ok(())
}

/// Only tokens that some query has reach the parser, which knows far more SQL.
fn known(token: &Token) -> Result<(), QueryError> {
    match token {
        Token::Word(_) | Token::Number(..) | Token::SingleQuotedString(_) => Ok(()),
        Token::Comma | Token::LParen | Token::RParen | Token::Period | Token::SemiColon => Ok(()),
        Token::Eq | Token::Neq | Token::Lt | Token::Gt | Token::LtEq | Token::GtEq => Ok(()),
        Token::Plus | Token::Minus | Token::Mul => Ok(()),
        other => Err(QueryError::unsupported(
            other,
            "= <> != < <= > >= AND OR NOT BETWEEN IN LIKE IS, names, numbers and 'strings' are",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_with_null_are_noticed() {
        for sql in [
            "WHERE age = NULL",
            "where age<>null",
            "WHERE a = 1 AND NOT b >=  null",
            "WHERE a =-- a comment\nNULL",
        ] {
            assert!(compares_null(sql), "{sql}");
        }
        for sql in [
            "WHERE age IS NULL",
            "WHERE a = 'x = NULL'",
            "WHERE a = \"null\"",
            "WHERE a IN (1, NULL)",
        ] {
            assert!(!compares_null(sql), "{sql}");
        }
    }
}
