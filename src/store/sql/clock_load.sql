SELECT offset_ms FROM clocks WHERE host = :host AND boot_id = :boot_id
