/* An approval and its run (SPEC §2: APR-2, APR-4, APR-6, APR-7, APR-8, APR-10, APR-13; RUN-13): people decide, a plain
 * SQL update decides, time passes, a user cancels, the daemon uses the grant and has a keeper start the tool, and the
 * daemon, the keeper and the machine die between any two steps.
 *
 * A transaction is one atomic step. The store and the files survive everything; the daemon's own state is `phase`,
 * `hand`, `wanted` and `starts`, which a crash resets. Accidents and actions of people are counted, so that every
 * behaviour terminates and "eventually" needs no fairness.
 *
 * -DBREAK_1 … -DBREAK_8 each remove one safeguard; spin must find an error in every one of them (README.md). */

#define KEEPERS 3
#define CRASHES 2
#ifdef PROGRESS
#define QUESTIONS 2
#define KILLS 1
#else
#define QUESTIONS 3
#define KILLS 2
#endif
#define REBOOTS 1
/* Fewer than in the code, so that the limit is reached. */
#define MOST_STARTS 1
#define NOBODY KEEPERS

/* With -DMARKS the search reports which marks it reached: a model that makes no progress violates nothing. */
#ifdef MARKS
c_decl {
  static char marks[32];
  static void tell(int n) {
    if (!marks[n]) printf("reached %d\n", n);
    marks[n] = 1;
  }
}
#define reached(n) c_code { tell(n); }
#else
#define reached(n) skip
#endif

mtype = { pending, approved, rejected, expired };          /* an approval's status */
mtype = { unused, used, void_ };                           /* a grant's use */
mtype = { waiting, running, completed, failed, cancelled } /* a run's status */
mtype = { gone, seated, assigned, told, marked, started }  /* a keeper */
mtype = { down, looking, killing, again, idle, holding, begun, committed, sent, watching } /* the daemon */

/* The store. */
typedef Approval {
  mtype status;
  bool is_settled;  /* there is no plain update left to validate */
  bool is_faulty;   /* the plain update chose a value that is not an option */
  bool was_late;    /* the plain update was made after the expiry */
  mtype use;
  bool digest;
  bool is_over;     /* its time has expired */
  byte wins;        /* ghost: valid decisions */
  byte effects;     /* ghost: starts of the tool on this grant */
}
Approval ap[QUESTIONS];
byte current = 0;
mtype state = waiting;
bool has_attempt = false;
byte grant = 0;       /* the question whose grant started the attempt */
byte keeper = NOBODY; /* the keeper that holds the attempt */
bool boot_of = 0;
bool is_ending = false;

/* The keepers, and the files of the attempt assigned to each. */
mtype holder[KEEPERS] = gone;
bool marker[KEEPERS];
bool exit_record[KEEPERS];
bool stop_sent[KEEPERS];
byte paid_by[KEEPERS];

/* The world. */
bool digest_now = 0;
bool boot = 0;
byte alive = 0; /* ghost: running tools */
byte crashes = 0;
byte kills = 0;
byte reboots = 0;

/* The daemon's own state. */
mtype phase = idle;
byte hand = NOBODY;
byte wanted = 0;
byte starts = 0;

#define is_up (phase != down)
#define is_final (state == completed || state == failed || state == cancelled)
#define is_denied(q) (ap[q].status == rejected || ap[q].status == expired)
#define is_held(k) (holder[k] != gone)
#define has_live_run (phase == committed || phase == sent || phase == watching)
#define is_free(k) (holder[k] == gone && keeper != k)
#define has_free_keeper (is_free(0) || is_free(1) || is_free(2))

inline forget() {
  hand = NOBODY;
  wanted = 0;
}

/* Records a valid decision: the first and only one. */
inline decide(q, s) {
  ap[q].status = s;
  ap[q].is_settled = true;
  ap[q].wins++;
  assert(ap[q].wins == 1)
}

/* A run that has ended has no pending question (APR-4). */
inline end_run(s) {
  assert(!is_final);
  state = s;
  has_attempt = false;
  keeper = NOBODY;
  is_ending = false;
  if
  :: ap[current].status == pending -> decide(current, expired)
  :: else
  fi
}

/* A new question, for the command that would run now. Beyond the model's limit of questions the run fails, as with
 * `on_interrupted: fail`. */
inline ask() {
  has_attempt = false;
  keeper = NOBODY;
  if
  :: current + 1 < QUESTIONS ->
    current++;
    ap[current].status = pending;
    ap[current].is_settled = true;
    ap[current].use = unused;
    ap[current].digest = digest_now;
    state = waiting
  :: else -> end_run(failed)
  fi
}

inline take_keeper() {
  if
  :: is_free(0) -> hand = 0
  :: !is_free(0) && is_free(1) -> hand = 1
  :: !is_free(0) && !is_free(1) -> hand = 2
  fi;
  holder[hand] = seated;
  /* Its files are stored under a new nonce. */
  marker[hand] = false;
  exit_record[hand] = false;
  stop_sent[hand] = false
}

inline let_go() {
  holder[hand] = gone;
  forget();
  phase = idle
}

inline create_attempt() {
  state = running;
  has_attempt = true;
  grant = wanted;
  keeper = hand;
  boot_of = boot;
  paid_by[hand] = wanted;
  phase = committed
}

/* APR-7: the grant is consumed and the attempt created, or neither; APR-10: for what was approved. */
inline use_grant() {
  if
  :: state == waiting && ap[wanted].use == unused ->
    if
#ifndef BREAK_5
    :: ap[wanted].digest != digest_now ->
      ap[wanted].use = void_;
      reached(1);
      let_go();
      ask()
    :: else ->
#else
    :: true ->
#endif
      assert(ap[wanted].digest == digest_now);
#ifdef BREAK_1
      create_attempt();
      phase = begun
#else
      ap[wanted].use = used;
#ifdef BREAK_8
      phase = begun
#else
      create_attempt()
#endif
#endif
    fi
  :: else -> let_go()
  fi
}

/* A plain update is validated before it takes effect; an invalid one is undone (APR-6). */
inline settle() {
  if
  :: ap[current].is_faulty || ap[current].was_late ->
    ap[current].status = pending;
    ap[current].is_settled = true;
    ap[current].is_faulty = false;
    ap[current].was_late = false;
    reached(2);
    if
    :: ap[current].is_over || is_final -> reached(3); decide(current, expired)
    :: else
    fi
  :: else ->
    if
    :: ap[current].status == approved -> reached(4); decide(current, approved)
    :: else -> reached(5); decide(current, rejected)
    fi
  fi
}

/* The recovery table of RUN-13, applied after a daemon starts and when a keeper is lost. While a keeper holds the
 * attempt and has not written its marker, nothing is decided. */
#ifdef BREAK_6
#define may_look true
#else
#define may_look (exit_record[keeper] || !is_held(keeper) || holder[keeper] == marked || holder[keeper] == started)
#endif
#define is_marked (boot_of == boot && marker[keeper])
inline look() {
  if
  :: exit_record[keeper] ->
    if
    :: is_ending -> reached(6); end_run(cancelled)
    :: else -> reached(7); end_run(completed)
    fi;
    phase = idle
  :: !exit_record[keeper] && is_held(keeper) && is_marked ->
    reached(8);
    hand = keeper;
    if
    :: is_ending -> reached(9); stop_sent[keeper] = true
    :: else
    fi;
    phase = watching
#ifdef BREAK_6
  :: !exit_record[keeper] && is_held(keeper) && !is_marked -> phase = again
#endif
  :: !exit_record[keeper] && !is_held(keeper) ->
    if
    :: is_ending || boot_of != boot || is_marked || starts >= MOST_STARTS ->
#ifdef BREAK_2
      phase = (is_ending -> killing : again)
#else
#ifdef BREAK_7
      phase = (!is_ending && !is_marked -> again : killing)
#else
      phase = killing
#endif
#endif
    :: else -> phase = again
    fi
  fi
}

proctype Daemon() {
end:
  do
  :: d_step { is_up && !ap[current].is_settled -> settle() }
  :: d_step { is_up && ap[current].status == pending && ap[current].is_over ->
              reached(10);
              decide(current, expired) }
  /* APR-8 */
  :: d_step { is_up && state == waiting && ap[current].is_settled && is_denied(current) ->
              reached(11);
              end_run(failed) }

  /* APR-13: regardless of who decided, and of which daemon ran at that time. */
#ifdef BREAK_4
  :: d_step { phase == idle && state == waiting && ap[current].status == approved && ap[current].use == unused &&
#else
  :: d_step { phase == idle && state == waiting && ap[current].status == approved && ap[current].use == unused &&
              ap[current].is_settled &&
#endif
              has_free_keeper ->
              wanted = current;
              take_keeper();
              phase = holding }
  :: d_step { phase == holding -> use_grant() }
#ifdef BREAK_1
  :: d_step { phase == begun -> ap[grant].use = used; phase = committed }
#endif
#ifdef BREAK_8
  :: d_step { phase == begun -> create_attempt() }
#endif
  :: d_step { phase == committed ->
              if
              :: holder[hand] == seated -> holder[hand] = assigned
              :: else
              fi;
              phase = sent }
  :: d_step { phase == sent ->
              if
              :: holder[hand] == assigned -> holder[hand] = told
              :: else
              fi;
              phase = watching }
  :: d_step { phase == watching && (exit_record[hand] || holder[hand] == gone) -> phase = looking }

  :: d_step { phase == looking && may_look -> look() }
  /* The tool provably never started: the same attempt, with another keeper. */
  :: d_step { phase == again && has_free_keeper ->
              reached(12);
              starts++;
              take_keeper();
              wanted = grant;
              create_attempt() }
  /* The rest of the process tree is killed before the result is recorded. */
  :: d_step { phase == killing ->
              alive = 0;
              if
              :: is_ending -> reached(13); end_run(cancelled)
              :: else -> reached(14); ask()
              fi;
              forget();
              phase = idle }

  /* The daemon's state is lost; a keeper that was not told to start exits when its daemon is gone. */
  :: d_step { is_up && crashes < CRASHES ->
              crashes++;
              if
              :: hand != NOBODY && (holder[hand] == seated || holder[hand] == assigned) -> holder[hand] = gone
              :: else
              fi;
              forget();
              starts = 0;
              phase = down }
  :: d_step { phase == down -> phase = (has_attempt -> looking : idle) }
  od
}

/* The steps of a keeper that was told to start, and its death between any two of them. */
proctype Keeper(byte k) {
end:
  do
  :: d_step { holder[k] == told && stop_sent[k] -> reached(16); exit_record[k] = true; holder[k] = gone }
  :: d_step { holder[k] == told -> marker[k] = true; holder[k] = marked }
  :: d_step { holder[k] == marked ->
              holder[k] = started;
              alive++;
              ap[paid_by[k]].effects++;
              /* One start per decision, which is a validated approval whose grant is used for this start. */
              assert(alive == 1);
              assert(ap[paid_by[k]].effects == 1);
              assert(ap[paid_by[k]].status == approved && ap[paid_by[k]].is_settled && ap[paid_by[k]].wins == 1);
              assert(ap[paid_by[k]].use == used);
              assert(state == running && grant == paid_by[k] && keeper == k);
              /* For the second question; with another keeper than the first; on an approval from before two crashes. */
              if
              :: paid_by[k] == 1 && ap[0].effects == 1 -> reached(17)
              :: else
              fi;
              if
              :: starts == 1 -> reached(18)
              :: else
              fi;
              if
              :: paid_by[k] == 0 && crashes == 2 -> reached(19)
              :: else
              fi }
  :: d_step { holder[k] == started -> alive--; exit_record[k] = true; holder[k] = gone }
  :: d_step { holder[k] != gone && kills < KILLS -> kills++; holder[k] = gone }
  od
}

/* A person reads the question, then answers it: in between it may have been answered or replaced by another. */
proctype Person(mtype answer) {
  byte seen;
end:
  d_step { is_up && ap[current].status == pending -> seen = current };
end_answer:
  d_step {
    is_up ->
#ifdef BREAK_3
    decide(seen, answer)
#else
    if
    :: ap[seen].status == pending && !ap[seen].is_over -> decide(seen, answer)
    :: else
    fi
#endif
  }
}

/* UPDATE approvals SET status = … WHERE … AND status = 'pending', with or without a running daemon. */
proctype Outside() {
end:
  atomic {
    ap[current].status == pending ->
    if
    :: ap[current].status = approved
    :: ap[current].status = rejected
    fi;
    ap[current].is_settled = false;
    ap[current].was_late = ap[current].is_over;
    if
    :: ap[current].is_faulty = true
    :: ap[current].is_faulty = false
    fi
  }
}

proctype Canceller() {
end:
  if
  :: d_step { is_up && state == waiting -> end_run(cancelled) }
  :: d_step { has_live_run && has_attempt -> is_ending = true };
    /* The reason for the end is stored before the stop is sent to the keeper. */
    d_step {
      if
      :: has_live_run && has_attempt && hand == keeper && holder[hand] != gone -> reached(15); stop_sent[hand] = true
      :: else
      fi
    }
  fi
}

proctype World() {
end:
  do
  :: d_step { ap[current].status == pending && !ap[current].is_over -> ap[current].is_over = true }
  :: d_step { !digest_now -> digest_now = 1 }
  /* A reboot: every process is gone, and the marker may or may not have reached the disk. */
  :: atomic { reboots < REBOOTS ->
              reboots++;
              boot = !boot;
              byte k;
              for (k : 0 .. KEEPERS - 1) {
                holder[k] = gone;
                if
                :: marker[k] = false
                :: true
                fi
              }
              alive = 0;
              forget();
              starts = 0;
              phase = down }
  od
}

init {
  atomic {
    ap[0].status = pending;
    ap[0].is_settled = true;
    ap[0].use = unused;
    run Daemon();
    run Keeper(0);
    run Keeper(1);
    run Keeper(2);
    run Person(approved);
    run Person(rejected);
    run Outside();
    run Canceller();
    run World()
  }
}

/* Eventually the run has ended or a person is asked: no decision is lost. */
#ifdef PROGRESS
ltl progress { <>[] (is_final || (state == waiting && ap[current].status == pending)) }
#endif
