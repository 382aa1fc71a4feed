import tomllib

import pytest

from belated.cli.support.study_files import format_base_section, format_study, set_scale
from belated.sweep.study import read_study

STUDY = """\
# Everything here was written by hand.
name = "mine"        # and stays
episodes = 200
seeds = [3, 1]
worlds   = [ "chain-5",
             "chain-10" ]
updaters = ["active"]
delays = ["constant:0"]

[[bases]]
name = "ucrl2"
scale = 0.25

[[ bases ]]          # the second
  preset = 'two_term'
  name = "ucbvi-bf"
  scale   =   0.5    # to be found

# a remark about the third
[[bases]]
name = "ucbvi-bf"

# the end
"""


def changes(before, after):
    """Lines that went and lines that came."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return [line for line in old if line not in new], [line for line in new if line not in old]


def test_the_scale_of_the_matching_base_changes_and_nothing_else():
    edited = set_scale(STUDY, "ucbvi-bf", {"preset": "two_term"}, 0.0123)
    assert changes(STUDY, edited) == (
        ["  scale   =   0.5    # to be found\n"],
        ["  scale   =   0.0123    # to be found\n"],
    )


def test_a_base_without_a_scale_gets_one_after_its_last_key():
    edited = set_scale(STUDY, "ucbvi-bf", {}, 1e-5)
    assert edited == STUDY.replace(
        '[[bases]]\nname = "ucbvi-bf"\n', '[[bases]]\nname = "ucbvi-bf"\nscale = 1e-05\n'
    )
    assert tomllib.loads(edited)["bases"][2]["scale"] == 1e-5


def test_a_label_does_not_tell_bases_apart_and_options_do():
    text = STUDY.replace('name = "ucrl2"', 'name = "ucrl2"\nlabel = "old"')
    assert tomllib.loads(set_scale(text, "ucrl2", {}, 2.0))["bases"][0]["scale"] == 2.0
    with pytest.raises(ValueError, match="exactly one section like the following, got 0"):
        set_scale(text, "ucrl2", {"delta": 0.1}, 2.0)


def test_line_endings_stay_and_a_missing_last_one_is_no_trouble():
    windows = STUDY.replace("\n", "\r\n")
    for options in ({}, {"preset": "two_term"}):
        plain = set_scale(STUDY, "ucbvi-bf", options, 0.07)
        assert set_scale(windows, "ucbvi-bf", options, 0.07) == plain.replace("\n", "\r\n")
    assert set_scale('[[bases]]\nname = "ubev"', "ubev", {}, 0.5) == (
        '[[bases]]\nname = "ubev"\nscale = 0.5\n'
    )


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        (
            '[[bases]]\nname = "ucrl2"\n"scale" = 0.5\n',
            '[[bases]]\nname = "ucrl2"\n"scale" = 0.1\n',
        ),
        (
            'about = """\n[[bases]]\n"""\n[[bases]]\nname = "ucrl2"\nscale = 1.0\n',
            'about = """\n[[bases]]\n"""\n[[bases]]\nname = "ucrl2"\nscale = 0.1\n',
        ),
        (
            '[[bases]]\nname = "ucrl2" # mine\n\n[other]\nx = 1\n',
            '[[bases]]\nname = "ucrl2" # mine\nscale = 0.1\n\n[other]\nx = 1\n',
        ),
        ('[[bases]]\nname = "ucrl2"\n', '[[bases]]\nname = "ucrl2"\nscale = 0.1\n'),
        (
            '[[bases]]\nname = "ucrl2"\n[[ bases ]]\nname = "ubev"\n',
            '[[bases]]\nname = "ucrl2"\nscale = 0.1\n[[ bases ]]\nname = "ubev"\n',
        ),
        (
            '[[ bases ]]\nname = "ubev"\n[[ bases ]]\nname = "ucrl2"\nscale = 0.1\n',
            '[[ bases ]]\nname = "ubev"\n[[ bases ]]\nname = "ucrl2"\nscale = 0.1\n',
        ),
    ],
)
def test_unusual_files_are_edited_too(text, edited):
    assert set_scale(text, "ucrl2", {}, 0.1) == edited


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", r"^the study file is not TOML: "),
        ("name = 'x'", r"^the study file must have exactly one .*, got 0:\n\[\[bases\]\]\nname = "),
        ('bases = ["ucrl2"]', r"^the study file must list its bases as \[\[bases\]\] sections\.$"),
        ('bases = [{name = "ucrl2"}]', r"^the study file must list its bases as "),
        ('[[bases]]\nname = "ucrl2"\n' * 2, r"^the study file must have exactly one .*, got 2:"),
        (
            '[[bases]]\nname = "ubev"\n[other]\nx = 1\n[[bases]]\nname = "ucrl2"\n',
            r"^the study file cannot be edited, because ",
        ),
    ],
)
def test_a_file_that_the_scale_does_not_fit_into_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        set_scale(text, "ucrl2", {}, 0.1)


def test_a_new_study_is_one_that_a_sweep_reads(tmp_path):
    file = tmp_path / "new.toml"
    options = {"preset": "two_term", "monotone": True, "scale": 0.03}
    file.write_text(
        format_study(
            'a "new" one',
            world="chain-5",
            base="ucbvi-bf",
            options=options,
            updater="lazy:10",
            delay="geometric:100",
            episodes=500,
            seeds=7,
            stages="pooled",
        )
    )
    study = read_study(file)
    assert study.name == 'a "new" one'
    assert (study.episodes, study.seeds, study.stages) == (500, 7, ["pooled"])
    assert (study.worlds, study.updaters, study.delays) == (
        ["chain-5"],
        ["lazy:10"],
        ["geometric:100"],
    )
    assert dict(study.bases[0].options) == options


def test_a_snippet_reads_back():
    options = {"preset": "two_term", "scale": 0.03, "note": 'a "\\" b', "many": [1, "x", True]}
    assert tomllib.loads(format_base_section("my.module:Base", options)) == {
        "bases": [{"name": "my.module:Base", **options}]
    }
