-------------------------------- MODULE Log ---------------------------------
\* A counter that goes round and writes everything down: without its view there is no end of states.
EXTENDS Naturals, Sequences
VARIABLES x, log
Init == x = 0 /\ log = <<>>
Next == x' = (x + 1) % 5 /\ log' = Append(log, x)
Spec == Init /\ [][Next]_<<x, log>>
Shown == x
Remembered == x < 5 /\ Len(log) < 6
==============================================================================
