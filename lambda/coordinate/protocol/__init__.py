"""Changes the layout of one counter while every reachable region goes on minting. It decides and does no I/O.

The rule: the next base lies above every ceiling that was found or fenced, and above the limit if a region that has
integers of the epoch wasn't fenced, or says that its table went back.

What is written
---------------
The layouts table has a register for each counter; under `/deployment` the deployment record; and under `/admitted` what
identifies it: its random token, and the id of its table. The record and `/admitted` are written in one transaction, and
every write of a register compares `/admitted`, which is small. The mirror has a copy of every register and of the
record. Each region has an item for each counter. It also has records of its layouts (`history.py`), which show that
there was a counter.

Every write is conditional. No region gets integers before its register, and the register's copy, say so.

1. Admit (`admit.py`). The record is replaced if it still has the token that the preview read. An outdated deployment, a
   floor for an unknown counter and a wrong answer to a loss are refused before any region changes. A lost record was
   put back by then, after all registers.
2. Fence (`begin_next_epoch` in `epochs.py`). First the register and its copy are rewritten unchanged: if that fails, no
   region stops. In every reachable region that may have integers of this epoch, the ceiling is lowered, or stays, for
   good. An item that was held is held no longer, so nobody opens it in this epoch either. Then the region's table is
   described: the fence counts only in the table that the register names.
3. Begin. The register is replaced by that of the next epoch, if nothing has changed in it and no other deployment was
   admitted. Then the mirror is written.
4. Hold. A region without an item gets one that is held, so it can't mint. Then the register gets the id of its table.
   A region with an older item gets only that. A fenced region's table is in the register from the beginning.
5. Open. The layouts are recorded in the region, and then the item gets the epoch's numbers: one that is held, or one of
   an earlier epoch. In a leaving region, the item is fenced at what was issued.
6. Reconcile. When nothing is left to do, the record is marked as reconciled and copied to the mirror.

A run may stop anywhere; the next one continues. Several runs may race: the register decides, and whoever loses looks
again.

A deleted counter keeps its register for ever, in an epoch without regions. Its limit lies at or above all that was
minted. Every region has a held item of it. Created again, it begins the next epoch above that limit.

Another home region
-------------------
The layouts table and its mirror are in the home region. A deployment in another region takes them over (`moves.py`).

1. It finds the homes of before: each region has on record which one is the home, Pulumi's state has the first one, and
   a claim names all that its writer knew.
2. It claims each of them: in one transaction, a claim takes the place of `/admitted`, and the copy of the record is
   marked, so that it proves nothing there any more. From then on, no register, no record and no copy of it is written
   in that home, since each of these writes compares `/admitted`.
3. It copies the last record, after its registers, into its own mirror. Of several records, that of the last term is the
   last. From there, they are put back as after any loss of the layouts table.

Who is killed, or was faster elsewhere, is followed in the same way: all that its claims name is claimed again. A claim
names the two tables of the home that it is for. If one of them is still there, and there is no record of its term, it
has led to nothing, and the record of before is the last. Otherwise there may have been a later one.
If the last record may be in a home that doesn't answer, that is a loss, and its id is the same until the home has
moved. Nothing is written before it is answered. Then every region must record the new home first, so there is one. The
former home may come back with all it had: its register is of an earlier epoch than the items, so its limit is lost.

The identity of tables
----------------------
A recreated or restored table has another `TableId`. A register has the id of each region's table, and that of the
layouts table in which it was written. A copy has the id of the mirror.
An id that was read before an item could be that of a table which has been deleted since. So an item is read or written
first, and then the table is described. A server without `TableId`, such as DynamoDB Local, has the time of creation.

After a loss
------------
- A lost or restored counters table: its id isn't the one in the register, so the epoch ends, above the limit and above
  all that was found. An epoch also ends, above all that was found, where some item of an earlier one reaches its base,
  wherever it stands.
- A lost or restored layouts table: all registers are put back from the mirror, and then the record. So where the record
  is, no register is missing, whatever becomes of the mirror afterwards. A lost mirror is written anew.
- A register whose limit is below some ceiling that was found is an older one: its limit is raised to that.
- A register is lost together with its copy, or is of an earlier epoch than some item, or doesn't name the table of an
  item that is open in its epoch. Then its limit is lost. The run that finds this out writes a register that says so,
  with the id of this loss, made of its random token and the number of the record. It gives nothing to any region. If
  everything at home is lost, that is done for every counter of the settings, and for every other one that left a trace,
  before the first record is written, and only while the record and its copy are as they were read. If Pulumi's state or
  any table has a trace, there is no first record without an answer.
- An answer is of one loss. It says above what nothing was minted, which lies at or above every ceiling that was found.
  Then each register that was lost by this loss goes on: every region answers, every item is brought into the register's
  epoch and fenced by one write, and the next base lies above all fences and above the answer. If somebody puts such a
  register back afterwards, it is lost once more: under another id, if the answer is still in the settings.
- No answer does without a number. What all tables show is not enough: one of them may be new, or lack a counter that
  was throttled when it was healed, and only the registers could tell.

Why no integer is minted twice
------------------------------
1. Within one epoch, regions have different offsets modulo the same stride. One region mints with an atomic write.
2. An epoch's integers lie at or above its base: its items begin there, and `issued` only grows.
3. They lie at or below its limit. A ceiling is written only after the register has the limit, and the limit is only
   raised. A raise that arrives late finds another epoch, or a fence, and fails.
4. In a fenced region, they lie at or below the fence. Nothing raises a fenced ceiling within its epoch.
5. The next base lies above all fences, and above the limit if any other region has integers. The register is replaced
   only if it hasn't changed since it was read, so the limit is still the one that the base was computed from.
6. An old epoch can't come back. An item is opened only over an earlier epoch or a hold, as they were read, and a fence
   leaves neither. A run that was paused during a change finds another register, or an item that is fenced, and so
   never opens; or another epoch or hold, and fails.
7. No run follows an outdated deployment: a register changes only while the record that was read is the admitted one.
8. No lost table is trusted. Only a table that never got integers of this epoch doesn't count, and the register says
   which.
9. The mirror has everything that regions were given, since the copy is written first. It is read after the register
   was found missing, so it is the last copy. A restored register may lack the last change, but nothing was done by
   that change yet.
10. A counter begins at 1, or at its floor, only if nothing shows that there was one. After the record was lost, too, a
    counter that left no trace begins above the answer, in an epoch above all that a warm function may have seen: epochs
    began less often than once a second, so the seconds since 1970 are above all of them.
11. A lost limit is never guessed. An answer names one loss: what one run finds, before the answer is admitted.
12. Of two homes, one changes registers at most. What a run of the former one still does in regions, it does by a
    register that was copied: items are raised up to its limit, and opened by its epoch. What it fences, the next epoch
    finds.

What needs a bound in time
--------------------------
- A write may be under way for minutes, as long as its signature is valid. If a table is deleted and recreated within
  that time, two late writes, a hold and its opening, could reach the new table.
- DescribeTable is eventually consistent: it may show a deleted table for a moment, which must be shorter than it
  takes to recreate a table.
- A deployment that would change the record is refused three hours after it was requested, by the clocks of the computer
  that deploys and of the function. Clocks may be wrong by minutes.

proof/simulation/ searches for a counterexample. tests/proof/simulation/transcripts/ has transcripts.
"""
