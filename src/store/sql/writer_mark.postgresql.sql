INSERT INTO writers (nonce, transactions, at) VALUES (:nonce, :transactions, :at)
ON CONFLICT (nonce) DO UPDATE SET transactions = excluded.transactions, at = excluded.at
