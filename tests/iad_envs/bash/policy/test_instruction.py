"""What is read in a shell instruction, and what it asks for: a change, an answer of some kind, or both."""

import pytest

from iad_envs.bash.policy.instruction import Asked, read_instruction


@pytest.mark.parametrize(
    ("instruction", "asked"),
    [
        ("How many .log files are there under /a?", Asked(False, False, "", "number", None)),
        ("Compute the mean average of the word count of *.txt files in /a", Asked(False, False, "", "number", None)),
        ("Count lines in each *.php file in /a", Asked(False, False, "", "text", None)),
        ("Calculate the md5 sum of the sorted list of md5 sums of all files", Asked(False, False, "", "digest", None)),
        ("Count md5sum of all '*.py' files in /a with subfolders.", Asked(False, False, "", "digest", None)),
        ("Find every css file in /a and its subfolders and print its path.", Asked(False, False, "", "paths", None)),
        ("Show the first 4 lines of /a/b.txt.", Asked(False, False, "", "text", 4)),
        ("Print the five largest files under /a", Asked(False, False, "", "text", 5)),
        ("Compress files in /a modified more than 7 days ago", Asked(True, None, "compress", "nothing", None)),
        ("Delete all .tmp files under /a/b.", Asked(True, True, "delete", "nothing", None)),
        ("Get rid of the files ending in .log in /a: delete them.", Asked(True, True, "get rid", "nothing", None)),
        ("Locate and remove large files in /a", Asked(True, True, "remove", "nothing", None)),
        ("Copies all files below /a to /b", Asked(True, False, "copy", "nothing", None)),
        ("Change permissions to 755 and print the number of files", Asked(True, None, "change", "number", None)),
        ("Change directory to the folder of the command 'python'", Asked(False, False, "change", "text", None)),
        ("Remove newline characters from '/a/b.txt'", Asked(None, None, "remove", "text", None)),
        ("Add up column 2 of /a/b.csv and print the sum.", Asked(False, False, "add", "number", None)),
        ("Create a table of all information in /a/b.txt", Asked(None, None, "create", "text", None)),
    ],
)  # fmt: skip
def test_what_is_asked_for_is_told_from_the_verbs(instruction: str, asked: Asked) -> None:
    assert read_instruction(instruction).asked == asked


def test_an_instruction_is_read_for_paths_kinds_words_and_numbers() -> None:
    errand = read_instruction("Print the 3 lines of /a/b.txt, from the csv files, with 'x y' before 2022-01-05.")
    assert (errand.paths, errand.endings, errand.quoted) == (("/a/b.txt",), ("csv",), ("x y",))
    assert errand.numbers == ("3",)  # a date is no number
    assert errand.plain == "print the 3 lines of it, from the csv files, with it before 2022-01-05."
    assert read_instruction("Remove junk files from '/a', sorted by file").endings == ()  # "junk" is no ending
    assert read_instruction("List the log files and *.o files").endings == ("log", "o")
    assert read_instruction("Remove '*.txt' in /a but not in it's folders, as in 'b'").quoted == ("*.txt", "b")
