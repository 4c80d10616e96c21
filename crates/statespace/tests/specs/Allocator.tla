------------------------------ MODULE Allocator ------------------------------
\* Clients ask for sets of resources and return them; fairness is strong.
EXTENDS FiniteSets
CONSTANTS Client, Resource
VARIABLES unsat, alloc
vars == <<unsat, alloc>>
TypeOK == unsat \in [Client -> SUBSET Resource] /\ alloc \in [Client -> SUBSET Resource]
available == Resource \ UNION {alloc[c] : c \in Client}
Init == unsat = [c \in Client |-> {}] /\ alloc = [c \in Client |-> {}]
Request(c, S) == /\ unsat[c] = {} /\ alloc[c] = {} /\ S # {}
                 /\ unsat' = [unsat EXCEPT ![c] = S] /\ UNCHANGED alloc
Allocate(c, S) == /\ S # {} /\ S \subseteq available \cap unsat[c]
                  /\ alloc' = [alloc EXCEPT ![c] = @ \cup S]
                  /\ unsat' = [unsat EXCEPT ![c] = @ \ S]
Return(c, S) == /\ S # {} /\ S \subseteq alloc[c]
                /\ alloc' = [alloc EXCEPT ![c] = @ \ S] /\ UNCHANGED unsat
Next == \E c \in Client, S \in SUBSET Resource : Request(c, S) \/ Allocate(c, S) \/ Return(c, S)
Liveness == /\ \A c \in Client : WF_vars(unsat[c] = {} /\ Return(c, alloc[c]))
            /\ \A c \in Client : SF_vars(\E S \in SUBSET Resource : Allocate(c, S))
Spec == Init /\ [][Next]_vars /\ Liveness
Exclusive == \A c, d \in Client : c # d => alloc[c] \cap alloc[d] = {}
WillReturn == \A c \in Client : unsat[c] = {} ~> alloc[c] = {}
WillObtain == \A c \in Client, r \in Resource : r \in unsat[c] ~> r \in alloc[c]
==============================================================================
