------------------------------ MODULE Transfer ------------------------------
\* Two clerks move money without a lock: some of it gets lost.
EXTENDS Integers, Sequences
CONSTANTS Clerk, Account
VARIABLES balance, pc, read
vars == <<balance, pc, read>>
Init == /\ balance = [a \in Account |-> 10]
        /\ pc = [c \in Clerk |-> <<"read", 1>>]
        /\ read = [c \in Clerk |-> 0]
Accounts == CHOOSE s \in [1..2 -> Account] : s[1] # s[2]
Read(c) == /\ pc[c][1] = "read" /\ pc[c][2] <= 2
           /\ read' = [read EXCEPT ![c] = balance[Accounts[pc[c][2]]]]
           /\ pc' = [pc EXCEPT ![c] = <<"write", @[2]>>] /\ UNCHANGED balance
Write(c) == /\ pc[c][1] = "write"
            /\ LET by == IF pc[c][2] = 1 THEN -3 ELSE 3
               IN  balance' = [balance EXCEPT ![Accounts[pc[c][2]]] = read[c] + by]
            /\ pc' = [pc EXCEPT ![c] = <<"read", @[2] + 1>>] /\ UNCHANGED read
Next == \E c \in Clerk : Read(c) \/ Write(c)
Spec == Init /\ [][Next]_vars
Done == \A c \in Clerk : pc[c] = <<"read", 3>>
Preserved == Done => balance[Accounts[1]] + balance[Accounts[2]] = 20
==============================================================================
