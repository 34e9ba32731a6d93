# Sourced by scripts/test.sh. start_postgres runs a private PostgreSQL on a free port of 127.0.0.1 in a temporary folder and exports
# VLLM_MEDIC_TEST_POSTGRES; stop_postgres ends it and removes the folder. Both may be called twice. As root it runs as the user postgres.

pg_dir=
pg_as=()

start_postgres() {
  [ -z "$pg_dir" ] || return 0
  local bin port try
  bin=$(compgen -G '/usr/lib/postgresql/*/bin' | sort -V | tail -1)
  [ -n "$bin" ] || { echo "PostgreSQL's server is missing" >&2; return 1; }
  pg_bin=$bin
  pg_dir=$(mktemp -d)
  pg_as=()
  if [ "$(id -u)" = 0 ]; then
    chown postgres "$pg_dir"
    pg_as=(runuser -u postgres --)
  fi
  if ! (cd "$pg_dir" && "${pg_as[@]}" "$bin/initdb" -D "$pg_dir/data" -A trust -U postgres --no-sync >"$pg_dir/log" 2>&1); then
    cat "$pg_dir/log" >&2
    stop_postgres
    return 1
  fi
  # Below the range that the system gives to clients, so that a free port stays free until the server has it.
  for try in 1 2 3 4 5 6 7 8; do
    port=$((15000 + RANDOM % 15000))
    # Nothing that the tests keep is worth an fsync: the durability of PostgreSQL is not what they ask about.
    if (cd "$pg_dir" && "${pg_as[@]}" "$bin/pg_ctl" -D "$pg_dir/data" -w -l "$pg_dir/data/server.log" \
      -o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories=$pg_dir/data -c max_connections=400 -c fsync=off" start >/dev/null 2>&1); then
      export VLLM_MEDIC_TEST_POSTGRES="postgres://postgres@127.0.0.1:$port/postgres?sslmode=disable"
      return 0
    fi
  done
  cat "$pg_dir/data/server.log" >&2
  stop_postgres
  return 1
}

stop_postgres() {
  [ -n "$pg_dir" ] || return 0
  if [ -f "$pg_dir/data/postmaster.pid" ]; then
    (cd "$pg_dir" && "${pg_as[@]}" "$pg_bin/pg_ctl" -D "$pg_dir/data" -w -m immediate stop >/dev/null 2>&1) || echo "PostgreSQL in $pg_dir did not stop" >&2
  fi
  rm -rf "$pg_dir"
  pg_dir=
  unset VLLM_MEDIC_TEST_POSTGRES
}
