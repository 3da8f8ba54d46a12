# What the reader of a page has (tests/support/doc_preparations.h): each `make_…` makes what a command is about and sets
# the variables for its id.

export TR EX AP PA TC GR ADDRESS TOKEN REEVE_TOKEN APP

# A request that is refused fails its block.
echo fail > "$HOME/.curlrc"

new_project() {
  mkdir -p "$HOME/prepared/$1/.reeve/workflows" && cd "$HOME/prepared/$1"
  git init -q
  echo 'tools: {script: {command: [sh, -c, "{prompt}"]}}' > .reeve/config.yaml
  printf '.reeve/state\n.worktrees\n' > .gitignore
  cat > .reeve/workflows/ask.yaml <<'END'
id: ask
name: Ask
entry_point: ask
nodes: [{id: ask, type: human, human_config: {title: "Ship it?"}}]
edges: []
config: {isolation: none}
END
  cat > .reeve/workflows/choose.yaml <<'END'
id: choose
name: Choose
entry_point: choose
nodes:
  - id: choose
    type: human
    human_config:
      title: Where?
      options: [{value: staging, label: Staging}, {value: production, label: Production}]
edges: []
config: {isolation: none}
END
  cat > .reeve/workflows/debug.yaml <<'END'
id: debug
name: Debug
entry_point: look
inputs: [{name: tries, type: integer}]
nodes: [{id: look, type: task, task_config: {role: coder, task_template: "echo {tries} tries"}}]
edges: []
config: {isolation: none}
END
  cat > .reeve/workflows/agent.yaml <<'END'
id: agent
name: Agent
entry_point: work
nodes: [{id: work, type: task, task_config: {role: coder, task_template: sh agent.sh}}]
edges: []
config: {isolation: none}
END
  cat > agent.sh <<'END'
curl -s --unix-socket "$REEVE_SOCKET" http://x/api/tool-calls > /dev/null \
  --json '{"call":"c1","tool":"file_write","arguments":{"path":"src/a.c","content":"int a;"}}'
exec sleep 600
END
  cat > release.yaml <<'END'
id: release
name: Release
entry_point: write
inputs: [{name: goal, default: none}]
nodes: [{id: write, type: task, task_config: {role: coder, task_template: "echo '{goal}' >> release.txt"}}]
edges: []
config: {apply: manual}
END
  sed 's/task_template: .*}}]/task_template: "exit 1"}}]/' release.yaml > broken.yaml
  printf '#!/bin/sh\necho deployed\n' > deploy.sh
  chmod +x deploy.sh
  git add -A
  git commit -qm first
}

# Nothing may run when the page is over.
end_all() {
  for id in $(reeve flow list --status running --status waiting_approval | cut -f 1); do
    reeve flow cancel "$id" > /dev/null || true
  done
  for id in $(reeve runs --status running --status stalled --status queued --status waiting_approval | cut -f 1); do
    reeve cancel "$id" --kill > /dev/null || true
  done
}

last_approval() { reeve approvals | cut -f 1 | sort -V | tail -n 1; }
await() { until reeve show "$1" | grep -q "^status.$2"; do sleep 0.02; done; }

make_live_run() { TR=$(reeve run --detach -- sleep 600); }
make_ended_run() { TR=$(reeve run --detach -- echo ended); reeve wait "$TR" > /dev/null; }
make_failed_run() { TR=$(reeve run --detach -- sh -c 'exit 3'); reeve wait "$TR" > /dev/null || true; }

# $1: the workflow that asks.
make_question() {
  EX=$(reeve flow run "${1:-ask}" --detach)
  reeve wait "$EX" --for waiting_approval > /dev/null
  AP=$(last_approval)
}
make_prompt() {
  TR=$(reeve run --detach --pty -- sh -c 'printf "Branch? "; read -r branch')
  await "$TR" waiting_approval
  AP=$(last_approval)
}

make_change() {
  EX=$(reeve flow run release.yaml --detach)
  reeve wait "$EX" > /dev/null
  PA=$(reeve patch list "$EX" | cut -f 1)
}
# The same one for all commands that leave it as it is.
have_change() {
  if [ -z "$kept_change" ]; then
    make_change
    kept_change=$EX
  fi
  EX=$kept_change
  PA=$(reeve patch list "$EX" | cut -f 1)
}
make_applied_change() { make_change; reeve patch apply "$PA" > /dev/null; }
make_failed_flow() { EX=$(reeve flow run broken.yaml --detach); reeve wait "$EX" > /dev/null || true; }
make_waiting_pipeline() {
  EX=$(reeve pipeline start reviewed --prompt x --detach)
  reeve wait "$EX" --for waiting_approval > /dev/null
}

# An agent that wants to run these commands, given as arguments in JSON, and asks on the socket of its run.
make_calls() {
  TR=$(reeve run --detach -- bash -c 'for arguments; do
    curl -s --unix-socket "$REEVE_SOCKET" http://x/api/tool-calls > /dev/null \
      --json "{\"call\":\"c$((++i))\",\"tool\":\"shell_execute\",\"arguments\":$arguments}"
    done; exec sleep 600' agent "$@")
  await "$TR" waiting_approval
  until [ "$(reeve calls "$TR" | wc -l)" -eq $# ]; do sleep 0.02; done
  AP=$(last_approval)
  TC=$(reeve calls "$TR" | cut -f 1 | head -n 1)
}
# One in a workflow that wants to write a file.
make_write_in_flow() {
  EX=$(reeve flow run agent --detach)
  until AP=$(last_approval) && [ -n "$AP" ]; do sleep 0.02; done
}
make_grant() {
  make_calls '{"command":"git status"}'
  reeve approve "$AP" --always --confirm="$AP" > /dev/null
  GR=$(reeve policy grants | cut -f 1 | sort -V | tail -n 1)
}

# An own state folder that another user of this machine has made.
make_foreign_state() {
  mkdir -p "$HOME/stranger" "$HOME/work/cloned" && cd "$HOME/work/cloned"
  HOME=$HOME/stranger reeve --state .reeve/state run -- true > /dev/null
  HOME=$HOME/stranger reeve --state .reeve/state stop > /dev/null
}
make_moved_project() {
  mkdir -p "$HOME/elsewhere/app/.reeve" && cd "$HOME/elsewhere/app"
  reeve run -- true > /dev/null
  cd "$HOME" && mv elsewhere/app work/app
}
make_copied_project() { cd "$HOME" && cp -a work/app work/app-2; }
make_own_state() {
  mkdir -p -m 700 "$HOME/work/app/.reeve/state" && cd "$HOME/work/app"
  reeve run -- true > /dev/null
  reeve stop > /dev/null
  cd "$HOME"
}

make_old_database() {
  mkdir -p "$(dirname "$1")"
  python3 -c 'import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as database:
    database.execute("CREATE TABLE uet_executions (execution_id TEXT, phase_name TEXT, status TEXT)")
    database.execute("INSERT INTO uet_executions VALUES (\"e1\", \"build\", \"completed\")")' "$1"
}
find_tag() {
  ETAG=$(curl -s -i --unix-socket ~/.local/state/reeve/reeve.sock "http://localhost/api/approvals/$AP" |
    tr -d '\r' | sed -n 's/^etag: //Ip')
}

open_port() {
  ADDRESS=$(reeve web --json | grep -o '"address":"[^"]*"' | cut -d '"' -f 4)
  TOKEN=$(reeve token create "reader-$RANDOM" --scope operate)
  REEVE_TOKEN=$TOKEN
}
