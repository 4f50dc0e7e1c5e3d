"""Changes the layout of one counter while every reachable region goes on minting. It decides and does no I/O.

The rule: the next base lies above the ceiling of every region that was fenced, and above the limit if one wasn't.

What is written
---------------
The layouts table has a register for each counter; under `/deployment` the deployment record; and under `/admitted` what
identifies it: its random token, and the id of its table. The record and `/admitted` are written in one transaction, and
every write of a register compares `/admitted`, which is small. The mirror has a copy of every register and of the
record. The archive has past layouts (`history.py`), on which no integer depends, and the marks of deleted counters: one
that is created again begins above its mark.

Every step is one conditional write:

1. Admit (`admit.py`). The record is replaced if it still has the token that the preview read. An outdated
   deployment, a floor for an unknown counter and two losses at once are refused before anything is written. A
   deployment that was requested more than three hours ago is outdated, unless the record already asks for the same.
   The very first record is written only when every region has answered, and nothing anywhere shows that there was one,
   or a floor is set. Its copy in the mirror is written before it.
2. Fence (`plan.End`, then `begin_next_epoch` in `epochs.py`). The register and its copy are rewritten unchanged: if
   that fails, the run stops here, and no region does. The layout that ends is archived. In every reachable region of
   the present epoch, the ceiling is lowered. Then the region's table is described: the fence counts only in the table
   that the register names.
3. Begin. The register is replaced by that of the next epoch, if nothing has changed in it and no other deployment was
   admitted. Then the mirror is written. No region is changed until the register's copy is written.
4. Apply. In every reachable region, all layouts are recorded, and then the item is replaced: next base, new
   stride, new ceiling. In a new table, a closed item, which can't mint, is put; then the register gets the table's
   id; then the item is opened.
5. Close. In a leaving region, the ceiling is set to what was issued, permanently.
6. Reconcile. When nothing is left to do, the record is marked as reconciled and copied to the mirror.

Besides, after a loss of both tables at home, items are adopted: brought to an epoch that nobody can have seen, as they
are, until a register bounds them; then they are fenced like others. A deleted counter gets a register without regions,
and its items are closed. An hour later, all of it is deleted, and its mark is written first (`deletion.py`).

A run may stop anywhere; the next one continues. Several runs may race: the register decides.

The identity of tables
----------------------
A recreated or restored table has another `TableId`. A register has the id of each region's table, and that of the
layouts table in which it was written. A copy has the id of the mirror. An id that was read before an item could be
that of a table which has been deleted since. So an item is read or fenced first, and then the table is described. A
server without `TableId`, such as DynamoDB Local, has the time of creation instead.

Why no integer is minted twice
------------------------------
1. Within one epoch, regions have different offsets modulo the same stride. One region mints with an atomic write.
2. An epoch's integers lie at or above its base: its items begin there, and `issued` only grows.
3. They lie at or below its limit. A ceiling is written only after the register has the limit, and the limit is only
   raised. A raise that arrives late finds another epoch, or a fence, and fails.
4. In a fenced region, they lie at or below the fence. The condition of the fence is: this epoch, not fenced yet, and
   the new ceiling not above the known one. Nothing raises a fenced ceiling within its epoch.
5. The next base lies above all fences, and above the limit for all other regions. The register is replaced only if it
   hasn't changed since it was read, so the limit is still the one that the base was computed from.
6. An old epoch can't come back. An item is replaced only by one of a later epoch. Where a table has no item, a closed
   one is put under a token that no other run has, and opened with this token only, after the register has named
   the table. A run that was paused during two changes finds the register changed, or its token gone.
7. No run follows an outdated deployment: a register changes only while the record that was read is the admitted one.
8. No lost table is trusted. Its id isn't the one in the register, so the next base lies above the limit, whatever
   the table contains.
   Only a table that never got integers of this epoch doesn't count, and the register says which.
9. The mirror has everything that regions were given, since the copy is written first. It is read after the register
   was found missing, so it is the last copy. A restored register may lack the last change, but nothing was done by
   that change yet.
10. A counter begins at 1 only if nothing shows that there was one. Where the first record was written after a loss, by
    a floor, all that has left no trace begins at that floor, in an epoch above all that a warm function may have seen:
    epochs began less often than once a second, so the seconds since 1970 are above all of them.
11. A counter that was deleted begins above its mark. The register that deletes it is the last one, so its limit bounds
    all that was minted. It stays for an hour, and so do the closed items. After that, nobody is at work any more who
    has found no register before it, or no item. The mark and the record, which knows the highest one, are written
    before the register is deleted, and read after it was found missing. If the archive isn't the one that the record
    names, all counters begin above that highest mark.

What needs a bound in time
--------------------------
- A write may be under way for minutes, as long as its signature is valid. If a table is deleted and recreated within
  that time, two late writes, a put and its opening, could reach the new table.
- A counter's register, and its items, are deleted an hour after its deletion began. Until then, a run that had seen it
  before has ended (15 minutes), and so has every write of such a run; clocks may differ by minutes.
- DescribeTable is eventually consistent: it may show a deleted table for a moment, which must be shorter than it
  takes to recreate a table.
- A deployment that would change the record is refused three hours after it was requested, by the clocks of the computer
  that deploys and of the function. Clocks may be wrong by minutes.

tests/proof/simulation/ searches for a counterexample, and has transcripts.
"""
