"""A generated discussion forum: boards, threads, posts, votes, profiles and moderation."""
