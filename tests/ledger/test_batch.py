"""What a batch asks of the database."""

import ledger_samples as samples
from belated.ledger import Feedback, Ledger
from belated.ledger.recording.transaction import EPISODE_QUERIES


def test_a_few_episodes_are_looked_up_without_reading_all_claims(ledger: Ledger) -> None:
    """Also while the database has not counted its rows yet, which takes it a minute or more."""
    ids = samples.opened(ledger, samples.defined(ledger), 3000)
    ledger.append([Feedback(id, samples.whole(number)) for number, id in enumerate(ids)])
    with ledger.store.reading() as connection:
        dialect = connection.dialect
        query = EPISODE_QUERIES[dialect.name].params(ids=ids[1000:1032])
        text = query.compile(
            dialect=dialect, compile_kwargs={"literal_binds": True, "render_postcompile": True}
        )
        explain = "EXPLAIN" if ledger.store.on_postgres else "EXPLAIN QUERY PLAN"
        rows = connection.exec_driver_sql(f"{explain} {text}").all()
    plan = "\n".join(str(row) for row in rows)
    assert "claims" in plan
    assert "Seq Scan on claims" not in plan
    assert "SCAN claims" not in plan
