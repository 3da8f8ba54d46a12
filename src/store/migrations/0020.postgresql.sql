-- A new kind of event.
ALTER TYPE event_kind ADD VALUE 'caller_progress';
