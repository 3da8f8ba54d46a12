SELECT pg_notify('reeve_outside', '')
