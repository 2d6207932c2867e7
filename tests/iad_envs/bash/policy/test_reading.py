"""What is read in a shell instruction."""

from iad_envs.bash.policy.reading import read_instruction


def test_an_instruction_is_read_for_paths_kinds_words_and_numbers() -> None:
    errand = read_instruction("Print the 3 lines of /a/b.txt, from the csv files, with 'x y' before 2022-01-05.")
    assert errand.paths == ("/a/b.txt",)
    assert errand.endings == ("csv",)
    assert errand.quoted == ("x y",)
    assert errand.numbers == ("3",)
    assert errand.date == "2022-01-05"
    assert errand.plain == "print the 3 lines of it, from the csv files, with it before 2022-01-05."


def test_a_word_before_files_is_a_kind_only_if_it_is_an_ending() -> None:
    assert read_instruction("Remove junk files from '/a', sorted by file").endings == ()
    assert read_instruction("List the log files and *.o files").endings == ("log", "o")


def test_an_apostrophe_does_not_begin_a_quotation() -> None:
    assert read_instruction("Remove '*.txt' in /a but not in it's folders, as in 'b'").quoted == ("*.txt", "b")
