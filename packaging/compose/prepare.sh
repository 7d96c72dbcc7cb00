#!/bin/sh
# prepare.sh DATA SHARED NAME: makes once what a server of that name and its workers need: a certificate and tokens. The
# certificate's key and the hashes of tokens stay in DATA; workers see SHARED.
set -eu
data=$1 shared=$2 name=$3
umask 077
if ! [ -e "$shared/server.crt" ]; then
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 -subj "/CN=$name" \
        -addext "subjectAltName=DNS:$name,DNS:localhost" -addext "basicConstraints=critical,CA:FALSE" \
        -keyout "$data/server.key" -out "$data/server.crt"
    cp "$data/server.crt" "$shared/server.crt"
fi
if ! [ -e "$shared/pool.token" ]; then
    omr token add --file "$data/tokens.toml" --name pool --may work > "$shared/pool.token.new"
    mv "$shared/pool.token.new" "$shared/pool.token"
fi
