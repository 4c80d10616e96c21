--------------------------- MODULE ReadersWriters ---------------------------
\* Readers together, writers alone, in the order in which they came.
EXTENDS FiniteSets, Naturals, Sequences
CONSTANT Actor
VARIABLES readers, writers, waiting
vars == <<readers, writers, waiting>>
Waits(a) == \E i \in 1..Len(waiting) : waiting[i][2] = a
TypeOK == readers \subseteq Actor /\ writers \subseteq Actor /\ waiting \in Seq({"read", "write"} \X Actor)
Init == readers = {} /\ writers = {} /\ waiting = <<>>
Ask(a, what) == /\ ~Waits(a) /\ a \notin readers \cup writers
                /\ waiting' = Append(waiting, <<what, a>>)
                /\ UNCHANGED <<readers, writers>>
Admit == /\ waiting # <<>> /\ writers = {}
         /\ LET first == Head(waiting)
            IN  CASE first[1] = "read" -> readers' = readers \cup {first[2]} /\ UNCHANGED writers
                  [] first[1] = "write" /\ readers = {} -> writers' = writers \cup {first[2]} /\ UNCHANGED readers
                  [] OTHER -> FALSE /\ UNCHANGED <<readers, writers>>
         /\ waiting' = Tail(waiting)
Stop(a) == /\ a \in readers \cup writers
           /\ readers' = readers \ {a} /\ writers' = writers \ {a}
           /\ UNCHANGED waiting
Next == Admit \/ \E a \in Actor : Ask(a, "read") \/ Ask(a, "write") \/ Stop(a)
Spec == Init /\ [][Next]_vars
Safe == /\ ~(readers # {} /\ writers # {})
        /\ Cardinality(writers) <= 1
==============================================================================
