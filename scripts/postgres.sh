# Sourced by scripts/test.sh. start_postgres runs a private PostgreSQL on a free port of 127.0.0.1 in a temporary folder and exports
# VLLM_MEDIC_TEST_POSTGRES; stop_postgres ends it. It needs Debian's packages and, as root, runs the server as the user postgres.

pg_dir=

start_postgres() {
  local bin port as=()
  bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
  [ -n "$bin" ] || { echo "PostgreSQL's server is missing" >&2; return 1; }
  pg_dir=$(mktemp -d)
  if [ "$(id -u)" = 0 ]; then
    chown postgres "$pg_dir"
    as=(runuser -u postgres --)
  fi
  port=$(go run ./scripts/freeport)
  (cd "$pg_dir" && "${as[@]}" "$bin/initdb" -D "$pg_dir/data" -A trust -U postgres >"$pg_dir/initdb.log" 2>&1) || { cat "$pg_dir/initdb.log" >&2; return 1; }
  (cd "$pg_dir" && "${as[@]}" "$bin/pg_ctl" -D "$pg_dir/data" -w -l "$pg_dir/data/server.log" \
    -o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories=$pg_dir/data -c max_connections=400 -c fsync=off" start >/dev/null) || { cat "$pg_dir/data/server.log" >&2; return 1; }
  pg_as=("${as[@]}")
  pg_bin=$bin
  export VLLM_MEDIC_TEST_POSTGRES="postgres://postgres@127.0.0.1:$port/postgres?sslmode=disable"
}

stop_postgres() {
  [ -n "$pg_dir" ] || return 0
  (cd "$pg_dir" && "${pg_as[@]}" "$pg_bin/pg_ctl" -D "$pg_dir/data" -w -m immediate stop >/dev/null 2>&1) || true
  rm -rf "$pg_dir"
  pg_dir=
}
