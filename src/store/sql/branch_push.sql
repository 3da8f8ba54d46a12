-- Only at home: who lost it says nothing about it any more.
UPDATE branches SET pushed = :pushed, sending = :sending WHERE root = :root AND home = :home
